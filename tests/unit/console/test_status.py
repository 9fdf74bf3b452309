"""What people see of the status of a database, on a terminal of 80 columns."""

import math
from dataclasses import replace

from pollwise.console.status import print_status
from pollwise.insight.collection import CollectionStatus
from pollwise.insight.evidence import Evidence
from pollwise.insight.forecasts import Interval
from pollwise.insight.receivers import FailingReceiver
from pollwise.insight.status import ChangedPage, FailingPage, Outlook, PeriodOutlook, Status
from pollwise.scheduler.capacity import Shortfall, SlowHost
from pollwise.store.records import ClockSetBack

URL = "http://a.example/:smile:/[bold]page?" + "x" * 80
EXPECTED = Interval(1.0, 0.5, 1.0)
NEVER = Interval(math.inf, math.inf, math.inf)
STATUS = Status(
    database="x.db",
    budget="6000/hour",
    shares=(),
    objective=None,
    started_at=None,
    pages=12_345,
    polls=0,
    changes=0,
    versions=0,
    version_bytes=34_000_000,
    keep="90d",
    event_bytes=12_000_000,
    bytes=1_000_000,
    growth=None,
    failing=1,
    gone=2,
    paused=0,
    quiet_until=86_400.0,
    with_hub=5,
    subscribed=4,
    hub_error="denied: not for you",
    always_changing=1,
    clock_ahead=7200.0,
    clock_set_back=ClockSetBack(at=0.0, ahead=30 * 86_400.0, polls=2),
    last_changes=(ChangedPage(URL, changed_at=0.0, changes=1),),
    failures=(FailingPage(URL, error="no [/] answer", failures=2),),
    gone_pages=(f"{URL}/gone",),
    failing_receivers=(
        FailingReceiver("phone", "status 500", 3, None, 12, waiting_since=60.0, next_try_at=120.0),
    ),
    always_changes=(URL,),
    collection=None,
    shortfall=Shortfall(
        144_000.0, 17_280.0, 17_280.0, 0.12, 1, (SlowHost("a.example", 9, 17_280.0, 4.5, 0.5),)
    ),
    evidence=Evidence(polls=50, needed=40),
    forecast=Outlook(
        day=PeriodOutlook(EXPECTED, EXPECTED, EXPECTED),
        week=PeriodOutlook(EXPECTED, EXPECTED, delay_days=NEVER),
    ),
)


def test_status_fits_a_terminal_and_shows_text_as_it_is(terminal):
    with terminal.in_use():
        print_status(STATUS)
    assert "x" * 30 + "…" not in terminal.plain
    assert max(map(len, terminal.plain.splitlines())) <= 80
    shown = " ".join(terminal.plain.replace("│", " ").split())
    assert "was 30 days ahead until 1970-01-01 00:00:00 (UTC): times of 2 polls were set" in shown
    assert (
        "a.example can take 720 polls an hour (answers in 0.5 s, then a pause of 4.5 s): 12 % of"
        " the budget of 6000/hour; a larger budget brings nothing there."
    ) in shown
    assert "0 (34 MB), to keep: 90 days" in shown
    assert "12 MB of at most 300 MB" in shown
    assert "12,345 (1 failing, 2 gone)" in terminal.plain
    assert "Pages that are gone: 1 of 2" in shown
    assert "subscribed 4 of 5 pages with a hub; one is not: denied: not for you" in shown
    assert "differ at every poll 1 page" in shown
    assert "quiet hours no poll begins until 1970-01-02 00:00:00 (UTC)" in shown
    assert "differs at every poll: `pollwise check URL --db x.db` shows what" in shown
    assert ":smile:/[bold]" in terminal.plain
    assert "no [/] answer" in terminal.plain
    assert (
        "those to phone fail (status 500): 12 changes to be told since 1970-01-01 00:01:00, tried"
        " again from 1970-01-01 00:02:00 (UTC) on"
    ) in shown
    assert "1 (0.5–1) changes found, copies fresh 100 % (50–100) of the time" in shown
    assert "│ copies fresh 100 % (50–100) of the time," in terminal.plain
    assert "7 (3.5–7) changes found" in shown
    assert "changes found after 24 hours (12–24)" in shown
    assert "changes of some pages never found" in shown


def test_urls_without_end_lose_their_middle(terminal):
    endless = f"http://b.example/{'x' * 100_000}/today"
    told = replace(
        STATUS,
        last_changes=(ChangedPage(endless, changed_at=0.0, changes=1),),
        failures=(FailingPage(endless, error="no answer", failures=2),),
        gone_pages=(endless,),
        always_changes=(endless,),
    )
    with terminal.in_use():
        print_status(told)
    assert terminal.plain.count("…") == 4
    assert len(terminal.plain) < 10_000


def test_status_says_of_which_pages_its_forecast_is(terminal):
    with terminal.in_use():
        print_status(replace(STATUS, paused=345))
    assert "forecast of the 12,000 pages not paused" in (
        " ".join(terminal.plain.replace("│", " ").split())
    )


def test_status_says_why_nothing_is_forecast_of_paused_pages(terminal):
    few = Evidence(polls=0, needed=40)
    with terminal.in_use():
        print_status(replace(STATUS, paused=12_345, evidence=few, forecast=None))
    shown = " ".join(terminal.plain.replace("│", " ").split())
    assert (
        "forecast all pages are paused: `pollwise resume URL --db x.db` lets them be polled again"
        in shown
    )


def test_status_forecasts_nothing_from_nothing(terminal):
    with terminal.in_use():
        print_status(replace(STATUS, evidence=Evidence(polls=1, needed=40), forecast=None))
    shown = " ".join(terminal.plain.replace("│", " ").split())
    assert "not known yet (1 poll that told something; about 40 needed)" in shown
    assert "coming day" not in shown


def test_status_of_a_collection_that_has_begun_says_that_it_gets_ready(terminal):
    collection = CollectionStatus(
        topic="sea",
        documents=0,
        relevant=0,
        relevance=0.0,
        copies=0,
        fringe=1,
        left_out=0,
        gone=0,
        hosts=1,
        hosts_that_take=0,
        hosts_take=None,
        allowed=1.0,
        best=(),
        newest=(),
        sites=(),
        terms=(),
        next_links=(),
    )
    new = replace(STATUS, started_at=0.0, collection=collection)
    with terminal.in_use():
        print_status(new)
    shown = " ".join(terminal.plain.replace("│", " ").split())
    assert "last start (UTC) 1970-01-01 00:00:00; getting ready, no poll has ended yet" in shown
    assert "fringe 1 page known by links only" in shown


def test_status_says_of_which_pages_it_counts_polls_and_changes(terminal):
    with terminal.in_use():
        print_status(STATUS)
    shown = " ".join(terminal.plain.replace("│", " ").split())
    assert "polls 0, of these pages changes found 0, by these polls" in shown
