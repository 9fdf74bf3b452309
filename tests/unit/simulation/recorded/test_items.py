"""Item histories: what polls find, how it is scored, and which tables are refused."""

import math

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from pollwise.errors import InputError, TraceError
from pollwise.metrics import Polls
from pollwise.policies.deadline.uniform import Uniform
from pollwise.policies.index.ephemeral import EphemeralIndex
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.items import ItemReplay, ItemTable, ephemeral_figures
from pollwise.types import Budget, Item, Outcome

TABLE = {
    "source": ["b", "a", "a", "b"],
    "item": ["x", "x", "y", "y"],
    "published_at": [0.0, 10.0, 20.0, 90.0],
    "first_seen": [0.0, 20.0, 20.0, 40.0],
    "gone_at": [30.0, -1.0, 60.0, None],
    "weight": [1.0, 2.0, 4.0, 8.0],
}


def written(tmp_path, table, ending="parquet"):
    path = tmp_path / f"some.items.{ending}"
    if ending == "parquet":
        parquet.write_table(pa.table(table), path)
    else:
        csv.write_csv(pa.table(table), path)
    return path


def polls(*pairs):
    return Polls(np.array([p for p, _ in pairs]), np.array([float(t) for _, t in pairs]))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_polls_find(tmp_path, ending):
    world = ItemReplay.read(written(tmp_path, TABLE, ending), half_life=10.0)
    world.reset(seed=0)
    assert [page.url for page in world.pages] == ["a", "b"]
    assert (world.begin, world.end) == (0.0, 60.0)
    (first,) = world.poll([0], 10.0)
    assert first.items == ()
    (seen,) = world.poll([0], 30.0)
    assert seen.outcome == Outcome.CHANGED
    assert seen.items == (Item(pytest.approx(0.5), 10.0), Item(pytest.approx(2.0), 20.0))
    (again,) = world.poll([0], 40.0)
    assert again.outcome == Outcome.UNCHANGED
    assert again.items == ()
    (late,) = world.poll([1], 40.0)  # x has gone; y is published, by the table, later than seen
    assert late.items == (Item(pytest.approx(8.0), 40.0),)


def test_an_item_without_an_end_stays(tmp_path):
    table = TABLE | {"gone_at": np.array([30.0, math.nan, 60.0, -1.0])}
    gone = ItemReplay.read(written(tmp_path, table), half_life=10.0).items.gone_at
    assert gone.tolist() == [math.inf, 60.0, 30.0, math.inf]


def test_ages_are_not_told_where_the_table_has_none(tmp_path):
    table = TABLE | {"published_at": TABLE["first_seen"]}
    world = ItemReplay.read(written(tmp_path, table), half_life=10.0)
    world.reset(seed=0)
    assert {item.published_at for item in world.poll([0], 25.0)[0].items} == {None}


def test_figures_by_hand(tmp_path):
    world = ItemReplay.read(written(tmp_path, TABLE), half_life=10.0)
    offered = 1.0 + 1.0 + 4.0 + 8.0  # a's x is 10 seconds old when it is listed
    figures = ephemeral_figures(world, polls((0, 30), (1, 35), (1, 50)), warm_up=0.0)
    assert figures["value_captured"] == pytest.approx((0.5 + 2.0 + 4.0) / offered)
    assert figures["items_captured"] == 3 / 4
    assert figures["polls"] == 3
    later = ephemeral_figures(world, polls((0, 30), (1, 35), (1, 50)), warm_up=0.5)
    assert later["value_captured"] == pytest.approx(0.5)
    assert later["items_captured"] == 1.0
    assert ephemeral_figures(world, polls((1, 5)), warm_up=0.9)["value_captured"] != 0.0  # NaN


def test_rates_are_values_per_second(tmp_path):
    world = ItemReplay.read(written(tmp_path, TABLE), half_life=10.0)
    assert world.rates == pytest.approx({0: 5.0 / 60.0, 1: 9.0 / 60.0})


def test_the_learner_is_ahead_of_uniform_where_sources_differ(tmp_path):
    rng = np.random.default_rng(3)
    times = np.sort(rng.uniform(0, 200_000, 2000))
    source = np.where(rng.random(2000) < 0.9, "busy", rng.choice(["c", "d", "e"], 2000))
    table = {
        "source": source.tolist(),
        "item": [str(n) for n in range(2000)],
        "published_at": (times - 60).tolist(),
        "first_seen": times.tolist(),
        "gone_at": [-1.0] * 2000,
        "weight": [1.0] * 2000,
    }
    world = ItemReplay.read(written(tmp_path, table), half_life=600.0)
    captured = [
        ephemeral_figures(world, simulate(policy, world, seed=0, budget=Budget(1 / 300)), 0.15)
        for policy in (EphemeralIndex(decay=world.decay), Uniform())
    ]
    assert captured[0]["value_captured"] > 1.3 * captured[1]["value_captured"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"weight": [1.0, -2.0, 4.0, 8.0]}, "row 2: weight is negative"),
        ({"weight": [1.0, 2.0, None, 8.0]}, "row 3: weight is empty"),
        ({"weight": [0.0] * 4}, "every weight is 0"),
        ({"gone_at": [30.0, 19.0, 60.0, -1.0]}, "row 2: gone_at is before first_seen"),
        ({"first_seen": [None, 20.0, 20.0, 40.0]}, "row 1: first_seen is empty"),
        ({"item": ["x", "x", "x", "y"]}, "row 3: the source has this item already"),
        ({"weight": ["much"] * 4}, "row 1: weight 'much' is no number"),
    ],
)
def test_bad_rows_are_named(tmp_path, change, fault):
    with pytest.raises(TraceError, match=fault) as caught:
        ItemReplay.read(written(tmp_path, TABLE | change), half_life=10.0)
    assert "some.items.parquet" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tables_that_are_none(tmp_path):
    fewer = {k: v for k, v in TABLE.items() if k not in ("item", "gone_at")}
    with pytest.raises(TraceError, match="no column item, gone_at; it has source"):
        ItemReplay.read(written(tmp_path, fewer), 1.0)
    with pytest.raises(TraceError, match="no rows"):
        ItemReplay.read(written(tmp_path, {k: v[:0] for k, v in TABLE.items()}), 1.0)
    with pytest.raises(TraceError, match="check the path"):
        ItemReplay.read(tmp_path / "none.parquet", 1.0)
    with pytest.raises(TraceError, match=r"must be a \.parquet or a \.csv file"):
        ItemReplay.read(tmp_path / "items.txt", 1.0)
    (tmp_path / "bad.parquet").write_bytes(b"rubbish")
    with pytest.raises(TraceError, match=r"bad\.parquet"):
        ItemReplay.read(tmp_path / "bad.parquet", 1.0)


@pytest.mark.parametrize("half_life", [0.0, -1.0, math.nan, math.inf])
def test_a_half_life_that_is_none(tmp_path, half_life):
    with pytest.raises(InputError, match="half_life"):
        ItemReplay.read(written(tmp_path, TABLE), half_life)


def test_sources_are_in_the_order_of_the_caller_and_those_of_files_by_name(tmp_path):
    own = {"source": ["z", "a", "z", "m"], "item": ["1", "2", "3", "4"]}
    table = TABLE | own | {"published_at": [0.0, 10.0, 20.0, 30.0], "gone_at": [99.0] * 4}
    filed = ItemReplay.read(written(tmp_path, table), half_life=10.0)
    names = ("source", "published_at", "first_seen", "gone_at", "weight")
    items = ItemTable(*(np.array(table[name]) for name in names))
    world = ItemReplay(items, half_life=10.0)
    assert [page.url for page in filed.pages] == ["a", "m", "z"]
    assert [page.url for page in world.pages] == ["z", "a", "m"]
    found = [each.poll(ids, 45.0) for each, ids in ((filed, [2, 0, 1]), (world, [0, 1, 2]))]
    assert [poll.items for poll in found[0]] == [poll.items for poll in found[1]]


def test_tables_in_memory_and_paths_as_text(tmp_path):
    filed = ItemReplay.read(str(written(tmp_path, TABLE)), half_life=10.0)
    world = ItemReplay.read(TABLE, half_life=10.0)
    assert [page.url for page in filed.pages] == ["a", "b"]
    assert [page.url for page in world.pages] == ["b", "a"]
    found = [each.poll(ids, 45.0) for each, ids in ((filed, [1, 0]), (world, [0, 1]))]
    assert [poll.items for poll in found[0]] == [poll.items for poll in found[1]]
    with pytest.raises(TraceError, match=r"^the table of items: no column item"):
        ItemReplay.read({name: cells for name, cells in TABLE.items() if name != "item"}, 1.0)
