"""What people see of the explanation of a page, on a terminal of 80 columns."""

from dataclasses import replace
from pathlib import Path

import pytest

from pollwise.console.explanation import print_explanation
from pollwise.insight.explanation import Explanation, HostBlock, RateSources, RecentPoll
from pollwise.insight.noise import MaskedPart
from pollwise.sources.conditions import Standing
from pollwise.types import Outcome

URL = "http://a.example/:smile:/[bold]page?" + "x" * 80
FIRST = RecentPoll(86_400.0, Outcome.CHANGED, reverted=False, first_copy=True)
AFTER_ONE_POLL = Explanation(
    url=URL,
    name="",
    objective="detection",
    weight=1.0,
    cost=1.0,
    polls=1,
    changes=0,
    versions=1,
    polled_at=86_400.0,
    last_changed_at=None,
    outcome=Outcome.CHANGED,
    failures=0,
    error=None,
    postponed=None,
    changes_per_day=None,
    changes_per_day_between=None,
    daily_between=None,
    chance=None,
    learned_from=RateSources(0, 7, 0, None, 0.0),
    index=float("inf"),
    price=0.0,
    host_price=None,
    budget="5/hour",
    due_at=86_400.0,
    rests_until=None,
    host_free_at=None,
    host_blocked_by=None,
    earliest_poll_at=None,
    latest_poll_at=None,
    demanded=False,
    changes_in_row=0,
    slowed=False,
    host_limit=None,
    host_limited_until=None,
    next_poll_at=86_400.0,
    recent=(FIRST,),
    masked=(),
    paused=False,
    tags=(),
    select=(),
    ignore=(),
    render=False,
    notify_when=(),
    conditions=(),
    quiet_until=None,
    signal=None,
    signalled_at=None,
    share_of=None,
)
LATER = [RecentPoll(at, Outcome.CHANGED, at == 3.0, False) for at in (4.0, 3.0)]
AFTER_MANY = replace(
    AFTER_ONE_POLL,
    polls=2_000,
    changes=30,
    changes_per_day=4.71,
    changes_per_day_between=(3.0, 6.0),
    chance=0.25,
    learned_from=RateSources(1_990, 7, 0, 0.25, 0.98),
    recent=(*LATER, FIRST),
)


@pytest.fixture
def shown(terminal):
    def show(page: Explanation) -> str:
        with terminal.in_use():
            print_explanation(page, Path("p1.db"))
        assert max(map(len, terminal.plain.splitlines())) <= 80
        assert "…" not in terminal.plain
        return " ".join(terminal.plain.replace("│", " ").split())

    return show


def test_after_one_poll_nothing_is_made_up(shown):
    told = shown(AFTER_ONE_POLL)
    assert "latest poll (UTC) 1970-01-02 00:00:00, first copy" in told
    assert "change rate not known yet (0 polls that told something; about 7 needed)" in told
    assert "learned from 0 polls of its own changed by now -" in told
    assert "why it is long overdue: it comes before all others" in told
    assert "recent polls first copy" in told


def test_a_url_that_is_very_long_loses_its_middle(terminal):
    with terminal.in_use():
        url = f"http://a.example/{'a' * 120_000}/end"
        print_explanation(replace(AFTER_MANY, url=url, error=f"no answer of {url}"), Path("p1.db"))
    assert len(terminal.plain) < 20_000
    assert "/end" in terminal.plain


def test_a_date_that_only_the_server_tells_is_called_so(shown):
    assert "as its server tells" not in shown(replace(AFTER_MANY, last_changed_at=9.0))
    assert "00:00:09, as its server tells" in shown(replace(AFTER_ONE_POLL, last_changed_at=9.0))


def test_why_it_is_polled_although_its_index_is_low(shown):
    below = replace(AFTER_MANY, index=0.5, price=1.0, due_at=172_800.0)
    assert "it is polled ahead of time if none of them can be, as the budget is not" in shown(below)
    late = replace(below, latest_poll_at=172_800.0)
    assert "it is polled because no page may wait for longer" in shown(late)
    asked = shown(replace(late, demanded=True))
    assert "it is polled because at-least asks for it" in asked


def test_that_it_differs_at_every_poll_is_counted_once(shown):
    slowed = replace(AFTER_MANY, index=0.5, changes_in_row=17, slowed=True)
    told = shown(replace(slowed, earliest_poll_at=172_800.0))
    assert told.count("the latest 17 all found a change") == 1
    assert "it gets its share of the budget and no more, until 1970-01-03" in told


def test_after_many_polls(shown):
    told = shown(AFTER_MANY)
    assert "polls 2,000, of which 30 found a change latest poll" in told
    assert "change rate 4.7 a day (90 %: 3–6)" in told
    assert "pages like it: every 4 days; 1,990 polls of its own took away 98 % of the" in told
    assert "recent polls changed, changed back, first copy" in told


def test_a_page_that_changes_by_the_clock_has_its_hours(shown):
    assert "hours of changes" not in shown(AFTER_MANY)  # what is shown next is added to it
    told = shown(replace(AFTER_MANY, daily_between=(85_200.0, 1199.0)))
    assert "hours of changes between 23:40 and 00:19 UTC" in told


def test_polls_that_told_nothing_took_away_no_uncertainty(shown):
    never_had = replace(AFTER_MANY.learned_from, polls=0, dates=0, own_share=0.0)
    told = shown(replace(AFTER_MANY, learned_from=never_had))
    assert "pages like it: every 4 days; none of its own polls has told anything yet" in told
    assert "uncertainty" not in told


def test_of_rates_far_apart_only_the_ends_are_told(shown):
    told = shown(replace(AFTER_MANY, changes_per_day_between=(0.01, 100.0)))
    assert "change rate every 100 days to 4.2 an hour (90 %)" in told


def test_a_page_that_is_due_has_no_time_of_its_next_poll(shown):
    waiting = replace(AFTER_MANY, due_at=86_400.0, next_poll_at=172_800.0)
    assert "due (UTC) 1970-01-02 00:00:00 next poll (UTC) when the budget allows" in shown(waiting)
    resting = replace(waiting, due_at=None, rests_until=86_400.0)
    assert "next poll (UTC) when the budget allows" in shown(resting)
    busy = shown(replace(waiting, host_free_at=172_800.0))
    assert "next poll (UTC) 1970-01-03 00:00:00" in busy
    quiet = shown(replace(waiting, quiet_until=172_800.0))
    assert "next poll (UTC) 1970-01-03 00:00:00" in quiet
    later = replace(waiting, due_at=172_800.0)
    assert "next poll (UTC) 1970-01-03 00:00:00" in shown(later)
    assert "A page is polled when its index reaches the price." in shown(later)


def test_a_time_that_no_calendar_has_is_a_dash(shown):
    told = shown(replace(AFTER_MANY, due_at=8.64e14, next_poll_at=-8.64e14))
    assert "due (UTC) - next poll (UTC) - " in told


def test_it_says_that_a_page_is_paused_and_what_is_wanted_of_it(capsys):
    print_explanation(
        replace(
            AFTER_ONE_POLL,
            paused=True,
            tags=("news", "daily"),
            select=("main",),
            ignore=("x",),
            render=True,
            notify_when=("below 20", "has x"),
        ),
        Path("my pages.db"),
    )
    out = capsys.readouterr().out
    for untold in ("infinite", "due", "at the latest", "1970-01-02 00:00:00\n"):
        assert untold not in out
    for told in (
        "it is paused: `pollwise resume",
        "--db 'my pages.db'`",
        "news daily",
        "what counts",
        "main",
        "what does not",
        "rendered",
        "notify when",
        "below 20",
        "has x",
    ):
        assert told in out


def test_conditions_are_told_with_how_they_stand(shown):
    standing = Standing("below 20", "19,50", 19.5, True)
    told = shown(replace(AFTER_MANY, notify_when=("below 20",), conditions=(standing,)))
    assert "notify when below 20: holds now, as it reads 19,50, that is 19.5" in told


def test_a_signal_and_a_share_are_told(shown):
    told = shown(replace(AFTER_MANY, signal=0.8, signalled_at=172_800.0, share_of="shop"))
    assert "signalled (UTC) 1970-01-03 00:00:00, true with probability 0.80" in told
    assert "share of the budget that of shop" in told


def test_the_price_of_a_host_that_cannot_keep_up(shown):
    text = shown(replace(AFTER_MANY, price=0.5, host_price=1.25))
    assert "0.5, 1.2 times that of other hosts, as its own cannot keep up" in " ".join(text.split())


def test_a_failing_page_waits_for_its_host_if_that_takes_longer_than_its_rest(shown):
    failing = replace(AFTER_MANY, failures=2, outcome=Outcome.FAILED, rests_until=86_400.0)
    assert "its polls fail: it rests until 1970-01-02 00:00:00, ever longer" in shown(failing)
    rested = replace(failing, due_at=None, next_poll_at=86_401.0)
    assert "its polls fail: it has rested, and is polled as soon as the budget allows" in shown(
        rested
    )
    waiting = replace(failing, host_free_at=172_800.0)
    assert "its polls fail, and its host is left alone until 1970-01-03 00:00:00" in shown(waiting)
    gone = replace(waiting, failures=0, outcome=Outcome.GONE)
    assert "it is gone, and its host is left alone until 1970-01-03 00:00:00" in shown(gone)


def test_the_index_of_a_page_that_rests_is_said_not_to_count(shown):
    assert "does not count" not in shown(AFTER_MANY)
    failing = replace(AFTER_MANY, index=0.5, price=0.1, failures=1, outcome=Outcome.FAILED)
    assert "which does not count, as its polls fail" in shown(failing)
    gone = replace(failing, failures=0, outcome=Outcome.GONE)
    assert "which does not count, as its server says it is gone" in shown(gone)


def test_its_remedies_name_the_database(shown):
    masked = MaskedPart(1, "Visitor 7", whole=False, quiet_polls=0, by_hand=True)
    told = shown(replace(AFTER_MANY, url="http://a/", masked=(masked,), changes_in_row=12))
    assert "`pollwise unmask http://a/ NUMBER --db p1.db`; without a number all of them" in told
    assert "`pollwise check http://a/ --db p1.db` shows what" in told


def test_it_says_at_which_page_its_host_asked_to_be_left_alone(shown):
    block = HostBlock("http://a.example/1", "status 503")
    told = shown(replace(AFTER_MANY, host_free_at=172_800.0, host_blocked_by=block))
    assert "1970-01-03 00:00:00, as it asked for that at http://a.example/1: status 503" in told


def test_a_page_that_was_never_polled_has_no_latest_poll_yet(shown):
    new = replace(AFTER_ONE_POLL, polls=0, versions=0, polled_at=None, outcome=None, recent=())
    assert "latest poll (UTC) none yet" in shown(new)
