"""What the line about the state says."""

from dataclasses import replace

from pollwise.dashboard.frame import PollingState, polling_state
from pollwise.settings import CollectSettings, WatchSettings

from . import some_figures

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


def test_without_a_process_that_polls_it_says_so():
    assert polling_state(None, WatchSettings(), NOW)[0] is PollingState.off


def test_it_polls():
    assert polling_state(FIGURES, WatchSettings(), NOW) == (PollingState.polling, "Polling", None)


def test_one_that_says_nothing_any_more_is_told_with_the_time_of_its_last_word():
    silent = replace(FIGURES, at=NOW - 60.0)
    state, words, since = polling_state(silent, WatchSettings(), NOW)
    assert (state, since) == (PollingState.silent, NOW - 60.0)
    assert words.endswith("since")


def test_it_compiles():
    assert polling_state(replace(FIGURES, compiling=True), None, NOW)[0] is PollingState.compiling


def test_quiet_hours_tell_their_end():
    settings = WatchSettings(quiet=("00:00-12:00", "12:00-00:00"))
    state, words, _ = polling_state(replace(FIGURES, quiet=True), settings, NOW)
    assert state is PollingState.quiet
    assert words.endswith(":00:00 (UTC)")


def test_a_collection_has_no_quiet_hours():
    state, _, _ = polling_state(FIGURES, CollectSettings(), NOW)
    assert state is PollingState.polling
