"""Scores against a reference that looks at every page in every second."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.metrics import TALLIED, Changes, Polls, detections, score, tally

LAST = 30

moments = st.integers(0, LAST)


@st.composite
def histories(draw):
    """Per page: changes at whole seconds, polls between them, birth, death, time of the copy.

    The first copies are older than the window.
    """
    begin, end = sorted((draw(moments), draw(moments)))
    pages = []
    for _ in range(draw(st.integers(1, 4))):
        born, died = sorted((draw(moments), draw(moments)))
        changes = sorted(draw(st.sets(moments, max_size=12)))
        polls = sorted(draw(st.lists(moments, max_size=8)))
        seen_at = draw(st.one_of(st.none(), st.integers(-10, begin).map(lambda t: t - 0.5)))
        if seen_at is not None:
            polls = [poll for poll in polls if poll + 0.5 > seen_at]
        forever = draw(st.booleans())
        pages.append(
            (changes, [p + 0.5 for p in polls], born, math.inf if forever else died, seen_at)
        )
    return pages, begin, end + 1


def by_the_second(pages, begin: int, end: int):
    """Polls, changes, found, seconds fresh, waited and lived, and age: half a second at a time."""
    polled = changed = found = fresh = waited = lived = aged = 0.0
    for changes, polls, born, died, seen_at in pages:
        copy, missed, waiting = seen_at, 0, 0
        stale_from = born if seen_at is None else None
        if seen_at is not None:
            unseen = [change for change in changes if seen_at < change]
            missed = any(change < begin for change in unseen)
            stale_from = min(unseen) if missed else None
        for half in range(-40, 2 * end):
            now = half / 2
            inside = max(begin, born) <= now < min(end, died)
            if half % 2 == 0 and now in changes:
                if copy is not None and now > copy:
                    missed = 1
                    stale_from = now if stale_from is None else stale_from
                if inside:
                    changed += 1
                    waiting += 1
            for _ in range(polls.count(now)):
                if inside:
                    polled += 1
                    found += bool(missed and copy is not None)
                copy, missed, waiting, stale_from = now, 0, 0, None
            if inside:
                fresh += (copy is not None and now >= copy and not missed) / 2
                waited += waiting / 2
                lived += 1 / 2
                aged += 0 if stale_from is None else (now + 1 / 4 - stale_from) / 2
    return polled, changed, found, fresh, waited, lived, aged


def build(pages):
    changes = Changes.of(
        [np.array(changes, float) for changes, *_ in pages],
        np.array([page[2] for page in pages], float),
        np.array([page[3] for page in pages], float),
    )
    events = sorted((time, n) for n, page in enumerate(pages) for time in page[1])
    polls = Polls(
        np.array([n for _, n in events], np.int64), np.array([time for time, _ in events], float)
    )
    seen_at = np.array([math.nan if page[4] is None else page[4] for page in pages])
    return polls, changes, seen_at


@given(history=histories())
def test_it_agrees_with_a_count_second_by_second(history):
    pages, begin, end = history
    polls, changes, seen_at = build(pages)
    result = score(polls, changes, begin=begin, end=end, seen_at=seen_at)
    polled, changed, found, fresh, waited, lived, aged = by_the_second(pages, begin, end)
    assert (result.polls, result.changes, result.found) == (polled, changed, found)
    assert result.captured == pytest.approx(found / changed if changed else math.nan, nan_ok=True)
    assert result.freshness == pytest.approx(fresh / lived if lived else math.nan, nan_ok=True)
    assert result.delay == pytest.approx(waited / changed if changed else math.nan, nan_ok=True)
    assert result.age == pytest.approx(aged / lived if lived else math.nan, nan_ok=True)


def one_page(changes, polls, **window):
    table = Changes.of([np.array(changes)], born=np.zeros(1), died=np.full(1, np.inf))
    done = Polls(np.zeros(len(polls), np.int64), np.array(polls))
    return score(done, table, **{"begin": 0.0, "end": 100.0, **window})


def test_of_several_changes_between_two_polls_one_is_found():
    result = one_page([10.0, 20.0, 30.0], [5.0, 40.0])
    assert (result.changes, result.found) == (3, 1)
    assert result.delay == pytest.approx(20.0)


def test_reverts_are_no_novel_changes():
    changes = Changes(
        np.array([0, 4]),
        np.array([10.0, 20.0, 30.0, 40.0]),
        np.zeros(1),
        np.full(1, np.inf),
        np.array([False, True, False, True]),
    )
    polls = Polls(np.zeros(3, np.int64), np.array([5.0, 25.0, 35.0]))
    result = score(polls, changes, begin=0.0, end=100.0)
    # The poll at 25 brings the version of 20, a revert; that of 10 is lost.
    assert (result.captured, result.novel_captured) == (2 / 4, 1 / 2)
    novel = score(polls, changes.novel(), begin=0.0, end=100.0)
    assert (novel.captured, novel.novel_captured) == (2 / 2, 2 / 2)


@given(history=histories())
def test_a_tally_has_a_row_for_each_page(history):
    pages, begin, end = history
    polls, changes, seen_at = build(pages)
    table = tally(polls, changes, begin=begin, end=end, seen_at=seen_at)
    assert table.shape == (len(pages), len(TALLIED))
    for n, page in enumerate(pages):
        alone = tally(*build([page])[:2], begin=begin, end=end, seen_at=seen_at[n : n + 1])
        assert table[n].tolist() == alone[0].tolist()


def test_a_first_copy_finds_nothing():
    assert one_page([10.0], [20.0]).found == 0
    assert one_page([10.0], [20.0], seen_at=np.array([0.0])).found == 1


def test_a_poll_at_the_time_of_a_change_sees_it():
    result = one_page([10.0], [5.0, 10.0])
    assert result.found == 1
    assert result.delay == 0.0


def test_what_is_never_polled_waits_to_the_end_of_the_window():
    assert one_page([10.0, 20.0], [], begin=15.0, end=50.0).delay == pytest.approx(30.0)


def test_a_copy_from_before_the_window_is_fresh_in_it():
    assert one_page([60.0], [1.0], begin=50.0, end=70.0).freshness == pytest.approx(0.5)


def test_without_changes_or_life_there_is_no_share_of_them():
    nothing = one_page([], [1.0])
    assert math.isnan(nothing.captured)
    assert math.isnan(nothing.delay)
    assert nothing.freshness == pytest.approx(0.99)
    assert math.isnan(one_page([1.0], [2.0], begin=-10.0, end=-5.0).freshness)


def test_changes_of_pages_are_kept_apart():
    times = [np.array([1.0, 2.0]), np.array([]), np.array([3.0])]
    changes = Changes.of(times, np.zeros(3), np.full(3, np.inf))
    assert [changes.of_page(n).tolist() for n in range(3)] == [[1.0, 2.0], [], [3.0]]
    assert Changes.of([], np.empty(0), np.empty(0)).times.size == 0


@given(hazard=st.floats(0, 50), before=st.floats(0, 1e3))
def test_detections_are_probabilities_of_a_change(hazard, before):
    [found] = detections(np.array([before]), np.array([before + hazard]))
    assert found == pytest.approx(1 - math.exp(-hazard), abs=1e-12)


def test_rare_changes_are_not_lost_in_rounding():
    assert detections(np.array([0.0]), np.array([1e-18])) == pytest.approx([1e-18])


def test_changes_of_times_in_words():
    days = np.array(["1970-01-02", "1970-01-03"], "datetime64[ns]")
    changes = Changes.of([days, ["1970-01-04"]], born=["1970-01-01"] * 2, died=[np.inf, 5e5])
    assert changes.times.tolist() == [86_400.0, 2 * 86_400.0, 3 * 86_400.0]
    assert changes.born.tolist() == [0.0, 0.0]
    assert changes.died.tolist() == [np.inf, 5e5]
    with pytest.raises(InputError, match=r"Changes: times=.* divide nanoseconds by 1e9"):
        Changes.of([days.astype(np.int64) + 10**18], [0.0], [np.inf])


def test_polls_and_windows_in_words():
    changes = Changes.of([["1970-01-02"]], born=[0.0], died=[np.inf])
    polls = Polls([0, 0], np.array(["1970-01-01", "1970-01-03"], "datetime64[ns]"))
    told = score(polls, changes, begin="1970-01-01", end=np.datetime64("1970-01-04"))
    meant = Polls(np.array([0, 0]), np.array([0.0, 2 * 86_400.0]))
    assert told == score(meant, changes, begin=0.0, end=3 * 86_400.0)
    assert (told.polls, told.found, told.delay) == (2, 1, 86_400.0)
    with pytest.raises(InputError, match=r"end=.* divide milliseconds by 1000"):
        score(polls, changes, begin=0.0, end=1.7e12)
