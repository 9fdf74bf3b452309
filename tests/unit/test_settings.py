"""What a run was told: checked at once, kept by the store, and read again."""

import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pollwise.cli.options import ObjectiveName, objective_told
from pollwise.errors import InputError, StoreError
from pollwise.objectives import Ephemeral
from pollwise.relevance.topic import topic
from pollwise.settings import (
    CollectSettings,
    WatchSettings,
    is_collection,
    latest_settings,
    read_settings,
    told_alone,
)
from pollwise.store import Store
from pollwise.types import Page

WHALES = topic("blue whales", ["The whale sings."])


@pytest.mark.parametrize(
    "settings",
    [
        WatchSettings(),
        WatchSettings(
            budget="4/day/page",
            objective="ephemeral",
            parameters={"decay": 0.25},
            revert_worth=0.5,
            not_modified_cost=0.1,
            keep="90d",
            at_least="1/week",
            at_most="1/minute",
        ),
        WatchSettings(first_copies="5/minute", allow_private=True),
        CollectSettings(topic=WHALES, subject="whales", keep="20"),
        CollectSettings(
            topic=WHALES,
            subject="whales",
            crawl_delay=5.0,
            allow=("a", "b"),
            deny=("x",),
            max_depth=0,
            pages_per_host=7,
            allow_private=True,
            given=("a.example",),
        ),
    ],
)
def test_what_the_store_kept_is_what_it_was_given(
    tmp_path: Path, settings: WatchSettings | CollectSettings
) -> None:
    with Store.open(tmp_path / "pollwise.db") as store:
        assert latest_settings(store) is None
        store.start_run(0.0, {"budget": "1/hour"}, None)
        store.start_run(1.0, settings.recorded(), None)
        assert latest_settings(store) == settings


def test_what_earlier_versions_did_not_keep_is_as_usual() -> None:
    kept = {"budget": "20/hour", "objective": "delay", "parameters": {}, "rate": 0.1}
    assert read_settings(kept) == WatchSettings(budget="20/hour", objective="delay")
    kept = {"budget": "2/second", "rate": 2.0, "topic": asdict(WHALES), "subject": "whales"}
    assert read_settings(kept) == CollectSettings(budget="2/second", topic=WHALES, subject="whales")


def test_a_collection_keeps_all_but_what_is_of_one_run() -> None:
    told = CollectSettings(topic=WHALES, subject="whales", crawl_delay=5.0, requests=9, workers=2)
    kept = CollectSettings(topic=WHALES, subject="whales", crawl_delay=5.0)
    assert read_settings(told.recorded()) == kept


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"budget": "fast"}, "budget 'fast'"),
        ({"first_copies": "at once"}, "first-copies 'at once'"),
        ({"objective": "luck"}, "luck"),
        ({"objective": "ephemeral"}, "decay"),
        ({"revert_worth": 2.0}, "revert_worth"),
        ({"keep": "long"}, "keep 'long'"),
        ({"at_least": "often"}, "at-least 'often'"),
        ({"at_most": "1/day/page"}, "at-most '1/day/page'"),
        ({"at_least": "2/day", "at_most": "1/day"}, "at-least 2/day asks for more polls than"),
    ],
)
def test_what_cannot_be_is_one_line_at_once(told: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why) as raised:
        WatchSettings(**told)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "kept",
    ['{"topic": {}}', '{"budget": 5}', "[]", '{"budget": "1/ho', "7",
     pytest.param('{"crawl_delay": 1' + "0" * 400 + "}", id="long")],
)  # fmt: skip
def test_damaged_settings_are_one_line_that_names_the_file(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        store.start_run(0.0, {}, None)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE runs SET settings = ?", (kept,))
        connection.commit()
    complaint = r"settings of .* run are damaged"
    with Store.open_readonly(path) as store, pytest.raises(StoreError, match=complaint) as raised:
        latest_settings(store)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_collection_has_a_budget_for_all_pages_together() -> None:
    with pytest.raises(InputError, match="the pages of a collection are not known beforehand"):
        CollectSettings(budget="1/day/page")


@pytest.mark.parametrize("workers", [0, 65, 1.5])
def test_a_collection_has_a_bounded_number_of_workers(workers: int) -> None:
    with pytest.raises(InputError, match=f"workers={workers} must be a whole number from 1 to 64"):
        CollectSettings(topic=WHALES, workers=workers)


def test_settings_make_policy_and_budget() -> None:
    settings = WatchSettings(
        budget="2/day/page", objective="ephemeral", parameters={"decay": 0.25}, revert_worth=0.5
    )
    scheduler = settings.scheduler(pages=43_200)
    assert (scheduler.budget.rate, scheduler.budget.burst) == (1.0, 1.0)
    assert scheduler.policy.objective == Ephemeral(decay=0.25)
    assert CollectSettings(budget="7/second").scheduler(pages=0).budget.burst == 7.0


@pytest.mark.parametrize("kept", [{"budget": "rubbish"}, {"objective": "of a later version"}, {}])
def test_what_kind_of_run_it_was_is_known_whatever_else_is_kept(
    tmp_path: Path, kept: dict[str, object]
) -> None:
    with Store.open(tmp_path / "pollwise.db") as store:
        assert not is_collection(store)
        store.start_run(0.0, kept, None)
        assert not is_collection(store)
        store.start_run(0.0, kept | {"topic": asdict(WHALES)}, None)
        assert is_collection(store)


def test_bounds_hold_for_the_pages_that_say_nothing_else() -> None:
    scheduler = WatchSettings(budget="60/hour", at_least="1/day", at_most="none").scheduler(2)
    scheduler.restore([Page(0), Page(1, longest_interval=3600.0, shortest_interval=60.0)], None)
    assert scheduler.bounds.intervals(0) == (0.0, 86400.0)
    assert scheduler.bounds.intervals(1) == (60.0, 3600.0)


def test_a_half_life_alone_is_for_an_objective_of_the_run_before(tmp_path) -> None:
    told = objective_told(None, 3.0)
    before = WatchSettings(**objective_told(ObjectiveName.ephemeral, 6.0))
    assert replace(before, **told).parameters == told["parameters"]
    for settings in (WatchSettings(), WatchSettings(objective="delay")):
        with pytest.raises(InputError, match="--objective ephemeral, not"):
            replace(settings, **told)
    (tmp_path / "pages.db").touch()
    assert told_alone(told, tmp_path / "pages.db") == {}
    assert told_alone(told, tmp_path / "new.db") == told
    assert told_alone(told, tmp_path / ("x" * 300)) == told, "the error comes when it is opened"
