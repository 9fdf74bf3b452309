"""What stands around a page: the line about the state, and of when it all is."""

import re
import time
from dataclasses import replace

from pollwise.boot_clock import seconds_since_boot
from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.frame import PollingState, polling_state
from pollwise.dashboard.stopped import Stopped
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.insight.snapshot import snapshot_of
from pollwise.live.run_figures import RunFigures
from pollwise.settings import CollectSettings, WatchSettings
from pollwise.store import Store
from pollwise.units import DAY

from . import some_figures
from .browsed import browsed

NOW = 1_700_000_000.0
FIGURES = replace(
    some_figures.FIGURES,
    started_at=NOW - 100.0,
    at=NOW - 1.0,
    under_way=0,
    pages=1,
    first_copies=0,
    hosts_in_line=0,
)


def just_told() -> RunFigures:
    return replace(FIGURES, uptime=seconds_since_boot() - 1.0)


def test_without_a_process_that_polls_it_says_so():
    assert polling_state(None, WatchSettings(), NOW)[0] is PollingState.off


def test_it_polls_whatever_was_done_to_the_clock():
    for now in (NOW - DAY, NOW, NOW + DAY):
        told = polling_state(just_told(), WatchSettings(), now)
        assert told == (PollingState.polling, "Polling", None)


def test_one_that_says_nothing_any_more_is_told_with_the_time_of_its_last_word():
    silent = replace(FIGURES, at=NOW - 60.0, uptime=seconds_since_boot() - 60.0)
    for now in (NOW - DAY, NOW):
        state, words, since = polling_state(silent, WatchSettings(), now)
        assert (state, since) == (PollingState.silent, NOW - 60.0)
        assert words.endswith("since")


def test_it_compiles():
    compiling = replace(just_told(), compiling=True)
    assert polling_state(compiling, None, NOW)[0] is PollingState.compiling


def test_quiet_hours_tell_their_end():
    settings = WatchSettings(quiet=("00:00-12:00", "12:00-00:00"))
    state, words, _ = polling_state(replace(just_told(), quiet=True), settings, NOW)
    assert state is PollingState.quiet
    assert words.endswith(":00 (UTC)")  # the end is a minute of local time


async def first_copies(db, *, figures, stopped=None):
    """What is said on adding pages."""
    async with Answers(db) as answers:
        answers.figures, answers.stopped = figures, stopped
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            _, _, text = await ask("/pages?done=added-2")
    return re.search("2 pages added[.] (First copies [^<]*)", text)[1]


async def test_when_new_pages_are_fetched_is_told_as_things_stand(db):
    polls = just_told()
    assert await first_copies(db, figures=polls) == "First copies are fetched in a moment."
    off = "First copies are fetched as soon as a process polls."
    assert await first_copies(db, figures=None) == off
    stopped = Stopped("the disk is full", 1.0, 2.0, has_begun=True)
    assert await first_copies(db, figures=None, stopped=stopped) == off
    with Store.open(db) as store:
        store.change_settings({"quiet": ["00:00-12:00", "12:00-00:00"]})
    quiet = await first_copies(db, figures=replace(polls, quiet=True))
    assert re.fullmatch(
        "First copies are fetched after the quiet hours, from .*:00 [(]UTC[)] on.", quiet
    )


async def test_a_frame_is_no_newer_than_what_is_in_it(tmp_path, monkeypatch):
    """Else the page would never be loaded anew."""
    db = tmp_path / "new.db"
    with Store.open(db):
        pass
    is_slow = False

    def slowly(*told, **more):
        time.sleep(2.5 if is_slow else 0.0)
        return snapshot_of(*told, **more)

    monkeypatch.setattr("pollwise.dashboard.answers.snapshot_of", slowly)
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            before, is_slow = answers.snapshots, True
            added = {"do": "add", "urls": "http://a.example/", "tags": "", "weight": ""}
            assert (await ask("/pages", added))[0] == 303
            _, _, text = await ask("/pages?done=added-1")
    told = int(re.search('data-snapshot="([0-9]+)"', text)[1])
    assert ("No page is watched yet" in text) == (told == before)


def test_a_collection_has_no_quiet_hours():
    state, _, _ = polling_state(just_told(), CollectSettings(), NOW)
    assert state is PollingState.polling
