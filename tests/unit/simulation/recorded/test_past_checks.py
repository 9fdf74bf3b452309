"""Tables of past checks, and the histories that fit them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pollwise.errors import TraceError
from pollwise.simulation.recorded.past_checks import PastChecks, has_checks

DAY = 86_400.0


def write(path: Path, *rows: str, heads: str = "page,checked_at,changed") -> Path:
    path.write_text("\n".join([heads, *rows]) + "\n")
    return path


def checked(changes_per_day: list[float], days: int, generator: np.random.Generator) -> PastChecks:
    """Daily checks of a page for each rate, which changes at random."""
    names = [f"{page:03}" for page in range(len(changes_per_day))]
    rows = [
        (day * DAY + page, page, generator.random() < -np.expm1(-rate))
        for page, rate in enumerate(changes_per_day)
        for day in range(days)
    ]
    times, pages, changed = zip(*sorted(rows), strict=True)
    return PastChecks(names, np.array(pages), np.array(times), np.array(changed))


def test_headings_may_have_capitals_and_blanks(tmp_path):
    path = write(tmp_path / "C.CSV", "a,10,0", "a,20,1", heads=" Page,Checked_At ,CHANGED")
    assert has_checks(path)
    assert PastChecks.read(path).times.tolist() == [10.0, 20.0]


def test_long_names_are_shortened_in_messages(tmp_path):
    path = write(tmp_path / "c.csv", f"{'x' * 9000},20,0", f"{'x' * 9000},10,1")
    with pytest.raises(TraceError, match=r"row 2: .* is not later than the one before") as error:
        PastChecks.read(path)
    assert len(str(error.value)) < 500


def test_a_table_is_read(tmp_path):
    path = write(tmp_path / "c.csv", "b,10,0", "a,1970-01-01T00:00:12Z,0", "b,30,1", "a,20,1")
    assert has_checks(path)
    checks = PastChecks.read(path)
    assert checks.names == ["a", "b"]
    assert checks.page_ids.tolist() == [1, 0, 0, 1]
    assert checks.times.tolist() == [10.0, 12.0, 20.0, 30.0]
    assert checks.changed.tolist() == [False, False, True, True]
    assert checks.first_at.tolist() == [12.0, 10.0]
    assert checks.polls.page_ids.tolist() == [0, 1]
    assert checks.polls.times.tolist() == [20.0, 30.0]


def test_what_is_no_table_of_checks(tmp_path):
    assert not has_checks(write(tmp_path / "t.csv", heads="page,changed_at"))
    assert not has_checks(write(tmp_path / "t.parquet"))
    assert not has_checks(tmp_path / "none.csv")
    assert not has_checks(tmp_path)
    (tmp_path / "empty.csv").touch()
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    assert not has_checks(tmp_path / "empty.csv")
    assert not has_checks(tmp_path / "binary.csv")


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (["a,1,0", "a,2,x"], ["row 2", "changed is 'x'", "0 or 1"]),
        (["a,1,0", "a,2,2"], ["row 2", "changed is '2'", "0 or 1"]),
        (["a,2,0", "b,1,0", "a,1,1"], ["row 3", "'a'", "sort the table"]),
        (["a,1,0", "a,1,1"], ["row 2", "'a'", "sort the table"]),
        (["a,1,0", "b,2,0"], ["no page was checked twice"]),
        ([], ["no page was checked twice"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path, rows, parts):
    path = write(tmp_path / "c.csv", *rows)
    with pytest.raises(TraceError) as error:
        PastChecks.read(path)
    for part in (str(path), *parts):
        assert part in str(error.value)


def test_histories_have_the_rates_that_the_checks_tell():
    generator = np.random.default_rng(1)
    true = [0.02] * 20 + [0.5] * 20
    histories = checked(true, 400, generator).histories(20, generator)
    counts = np.mean([np.diff(world.changes.offsets) for world in histories], axis=0) / 399
    assert counts[:20].mean() == pytest.approx(0.02, rel=0.15)
    assert counts[20:].mean() == pytest.approx(0.5, rel=0.1)
    assert counts[:20].max() < counts[20:].min()


def test_a_page_that_always_changed_has_a_rate_that_can_be_known():
    generator = np.random.default_rng(1)
    [world] = checked([1e9, 0.1], 200, generator).histories(1, generator)
    assert 1.0 < len(world.changes.of_page(0)) / 199 < 2.5


def test_a_history_begins_with_a_copy_at_the_first_check_of_each_page():
    generator = np.random.default_rng(1)
    checks = checked([0.3, 0.3, 0.0], 30, generator)
    for world in checks.histories(3, generator):
        world.reset(0)
        assert [page.url for page in world.pages] == checks.names
        assert world.begin == 0.0
        assert world.end == pytest.approx(29 * DAY + 2)
        assert world.end > checks.times[-1]
        assert [page.seen_at for page in world.pages] == [0.0, 1.0, 2.0]
        for page in range(3):
            times = world.changes.of_page(page)
            assert np.all((times >= page) & (times <= world.end))


def test_the_same_seed_gives_the_same_histories():
    checks = checked([0.3, 0.1], 50, np.random.default_rng(2))
    one, other = (checks.histories(2, np.random.default_rng(3)) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert a.changes.times.tolist() == b.changes.times.tolist()


@pytest.mark.parametrize(
    "words", [("0", "1"), ("0.0", "1.0"), ("no", "yes"), ("False", "True"), (" FALSE", "true ")]
)
def test_whether_a_page_changed_may_be_said_in_many_ways(tmp_path, words):
    no, yes = words
    path = write(tmp_path / "c.csv", f"a,1,{no}", f"a,2,{yes}", f"a,3,{no}")
    assert PastChecks.read(path).changed.tolist() == [False, True, False]


@pytest.mark.parametrize("cells", [[0, 1], [0.0, 1.0], [False, True], ["no", "yes"]])
def test_checks_in_parquet(tmp_path, cells):
    table = pa.table({"page": ["a", "a"], "checked_at": [1.0, 2.0], "changed": cells})
    parquet.write_table(table, tmp_path / "c.parquet")
    assert PastChecks.read(tmp_path / "c.parquet").changed.tolist() == [False, True]
