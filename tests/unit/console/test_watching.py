"""What people see of a running watch, on a terminal and elsewhere."""

import json
import re
from dataclasses import replace
from pathlib import Path

from pollwise.console import display
from pollwise.console.log import LogFormat, notices_in
from pollwise.console.watching import Detail, WatchDisplay
from pollwise.events import Added, HostBlocked
from pollwise.live.ahead import Ahead, NextPoll
from pollwise.live.progress import Progress
from pollwise.settings import WatchSettings
from pollwise.store.records import PollResult
from pollwise.types import Noise, Observation, Outcome, Page, PageMemory, Version
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

URL = "http://a.example/:smile:/[bold]page?" + "x" * 80
WATCHED = {7: Watched(Page(7, URL, "a.example"), PageMemory())}
SETTINGS = WatchSettings(budget="5/hour", objective="delay")
MOMENT = "1970-01-02 00:00:00"


def shown_by(detail: Detail = Detail.news) -> WatchDisplay:
    return WatchDisplay(SETTINGS, pages=1, db=Path("x.db"), detail=detail)


def turn(
    outcome: Outcome,
    error: str | None = None,
    *,
    first: bool = False,
    gone_or_back: bool = False,
    body: bytes | None = None,
) -> Progress:
    version = None if body is None else Version(7, 86_400.0, "text/html", body, "0")
    result = PollResult(Observation(7, 86_400.0, outcome), PageMemory(), version, error)
    return Progress(
        (),
        (PollReport(result),),
        frozenset({7} if first else ()),
        frozenset({7} if gone_or_back else ()),
    )


def watch(*turns: Progress, detail: Detail = Detail.news) -> None:
    with shown_by(detail) as shown:
        for progress in turns:
            shown.show(progress, WATCHED)


HISTORY = (
    turn(Outcome.CHANGED, first=True),
    turn(Outcome.UNCHANGED),
    turn(Outcome.CHANGED),
    turn(Outcome.FAILED, "status 500"),
    turn(Outcome.FAILED, "status 500"),
    turn(Outcome.FAILED, "status 503"),
    turn(Outcome.GONE, gone_or_back=True),
    turn(Outcome.GONE),
    turn(Outcome.UNCHANGED, gone_or_back=True),
)
HEAD = "watching 1 page at 5/hour for delay, database x.db; times are UTC; Ctrl-C ends it"
END = "stopped: 9 polls, 1 change, 0 failing or gone"


def test_changes_go_to_stdout_and_troubles_to_stderr_once(capsys):
    watch(*HISTORY)
    out, err = capsys.readouterr()
    notes = ["", "  (gone)", "  (back)"]
    assert out == "".join(f"{MOMENT}  {URL}{note}\n" for note in notes)
    head, *lines, end = err.splitlines()
    assert (head, end) == (HEAD, END)
    troubles = ["failed (status 500)", "failed (status 503)"]
    assert lines == [f"{MOMENT}  {what}  {URL}" for what in troubles]


def test_a_watch_may_tell_every_poll(capsys):
    watch(*HISTORY, turn(Outcome.POSTPONED, "no room"), detail=Detail.polls)
    _, *lines, end = capsys.readouterr().err.splitlines()
    polls = ["first copy", "unchanged", "changed", *["failed (status 500)"] * 2]
    polls += ["failed (status 503)", "gone", "gone", "unchanged", "postponed (no room)"]
    assert lines == [f"{MOMENT}  {what}  {URL}" for what in polls]
    assert end == f"{END}, 1 poll postponed"


def test_a_log_has_an_object_for_every_poll_and_nothing_else(capsys):
    turns = turn(Outcome.CHANGED, first=True, body=b"four"), turn(Outcome.FAILED, "status\n500")
    watch(*turns, detail=Detail.log)
    notices_in(LogFormat.json, print)("the disk is full")
    first, failed, notice = map(json.loads, capsys.readouterr().err.splitlines())
    assert first == {
        "at": 86_400.0,
        "level": "info",
        "event": "poll",
        "polled_at": 86_400.0,
        "url": URL,
        "outcome": "changed",
        "first_copy": True,
        "reverted": False,
        "last_changed_at": None,
        "bytes": 4,
        "masked": [],
        "always_changes": False,
        "cost": 1.0,
        "error": None,
    }
    assert (failed["outcome"], failed["error"], failed["bytes"]) == ("failed", "status\n500", None)
    assert failed["level"] == "warning"
    assert notice.pop("at") > 0
    assert notice == {"level": "notice", "event": "notice", "notice": "the disk is full"}


def test_journald_gets_priorities_and_no_times(capsys):
    with WatchDisplay(SETTINGS, pages=1, db=Path("x.db"), log=LogFormat.systemd) as shown:
        for progress in HISTORY[:4]:
            shown.show(progress, WATCHED)
        notices_in(LogFormat.systemd, print)("quiet hours are over")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "<6>watching 1 page at 5/hour for delay, database x.db"
    assert f"<4>failed (status 500)  {URL}" in lines
    assert "<5>quiet hours are over" in lines
    assert lines[-1] == "<6>stopped: 4 polls, 1 change, 1 failing or gone"


def test_a_log_tells_what_is_masked_and_that_a_page_always_changes(capsys):
    memory = PageMemory(noise=Noise(changes_in_a_row=12))
    seen = Observation(7, 86_400.0, Outcome.CHANGED)
    report = PollReport(PollResult(seen, memory, masked=("Now: 12:03",)))
    watch(Progress((), (report,)), detail=Detail.log)
    logged = json.loads(capsys.readouterr().err)
    assert (logged["masked"], logged["always_changes"]) == (["Now: 12:03"], True)


def test_of_a_page_that_always_changes_few_lines_are_shown(capsys):
    watch(*[turn(Outcome.CHANGED)] * 10)
    out, err = capsys.readouterr()
    assert out.splitlines() == [f"{MOMENT}  {URL}"] * 3
    assert (
        f"7 more changes of {URL} not shown (at most 3 a minute of each page)" in err.splitlines()
    )


def test_a_watch_on_a_terminal_has_a_line_of_counts(terminal):
    with terminal.in_use():
        watch(turn(Outcome.CHANGED, first=True), turn(Outcome.CHANGED))
    assert f"{MOMENT}  first copy  {URL}" in terminal.plain
    assert f"{MOMENT}  {URL}\n" in terminal.plain
    assert re.search(r"\S 0 polls, 0 changes, 0 failing or gone; getting ready", terminal.plain)
    assert terminal.plain.endswith("stopped: 2 polls, 1 change, 0 failing or gone\n")


def live_lines(terminal, *aheads: Ahead) -> list[str]:
    """What the live line says, in turn, of these."""
    told = []
    with terminal.in_use(), shown_by() as shown:
        coming = iter(aheads)
        shown.begin(first_copies=8, ahead=lambda: next(coming), end=lambda: None)
        for _ in aheads:
            shown.show(turn(Outcome.UNCHANGED), WATCHED)
            told.append(shown._live_line())
            shown._looked_at -= 1.0
    return told


def test_the_live_line_names_the_host_of_the_next_poll(terminal):
    next_polls = NextPoll(7, 7199.5), NextPoll(7, 0.0), NextPoll(7, 0.0, host_is_polled=True), None
    assert live_lines(terminal, *map(Ahead, next_polls)) == [
        "1 poll, 0 changes, 0 failing or gone; next: a.example in 2 hours",
        "2 polls, 0 changes, 0 failing or gone; next: a.example now",
        "3 polls, 0 changes, 0 failing or gone; waiting for a.example to answer",
        "4 polls, 0 changes, 0 failing or gone; pages rest or are being polled",
    ]


def test_the_live_line_tells_of_first_copies_and_of_compiling(terminal):
    aheads = (
        Ahead(None, first_copies=5, compiling=True),
        Ahead(None, compiling=True),
        Ahead(NextPoll(7, 0.0), first_copies=1),
    )
    told = live_lines(terminal, *aheads)
    assert [line.partition("; ")[2] for line in told] == [
        "first copies: 0 of 8, compiling",
        "first copies: 0 of 8, compiling",
        "first copies: 0 of 8",
    ]


def test_first_copies_of_pages_added_meanwhile_count(terminal):
    added = Progress((Added(86_400.0, (Page(8), Page(9))),), ())
    with terminal.in_use(), shown_by() as shown:
        ahead = Ahead(None, first_copies=2)
        shown.begin(first_copies=1, ahead=lambda: ahead, end=lambda: None)
        shown.show(turn(Outcome.CHANGED, first=True), WATCHED)
        assert shown._live_line().endswith("; first copies: 1 of 1")
        shown.show(added, WATCHED)
        assert shown._live_line().endswith("; first copies: 1 of 3")


def test_pages_that_were_failing_or_gone_before_count_and_may_be_back(capsys):
    with shown_by() as shown:
        shown.begin(
            first_copies=0,
            failing_or_gone={7: "", 9: None},
            ahead=lambda: Ahead(None),
            end=lambda: None,
        )
        assert shown._line().endswith("2 failing or gone")
        shown.show(turn(Outcome.UNCHANGED), WATCHED)
        assert shown._line().endswith("1 failing or gone")
    assert f"  back  {URL}" in capsys.readouterr().err


def test_what_an_earlier_run_has_told_of_pages_failing_or_gone_is_not_told_again(capsys):
    known = {1: "status 500", 2: None, 3: "status 500", 4: ""}
    watched = {i: Watched(Page(i, f"{URL}{i}", seen_at=None), PageMemory()) for i in range(6)}

    def begin_again(shown: WatchDisplay, first_copies: int) -> None:
        shown.begin(
            first_copies=first_copies,
            failing_or_gone=known,
            gave_none=known,
            ahead=lambda: Ahead(None),
            end=lambda: None,
        )
        capsys.readouterr()

    def failed(page_id: int, error: str | None = "status 500") -> Progress:
        outcome = Outcome.GONE if error is None else Outcome.FAILED
        seen = Observation(page_id, 86_400.0, outcome)
        return Progress((), (PollReport(PollResult(seen, PageMemory(), None, error)),), frozenset())

    with shown_by() as shown:
        begin_again(shown, first_copies=5)
        for turn_of in (failed(1), failed(2, None), failed(3, "status 503"), failed(4)):
            shown.show(turn_of, watched)
        shown.show(failed(3, "status 503"), watched)
        told = capsys.readouterr().err.splitlines()
        assert told == [
            f"{MOMENT}  failed (status 503)  {URL}3",
            f"{MOMENT}  failed (status 500)  {URL}4",
        ]
        shown.show(failed(5), watched)  # the only one that was never asked for
        told = capsys.readouterr().err.splitlines()
        assert told[1:] == ["first copies: 0 of 5; 5 pages gave none, and will be tried again"]
    with shown_by() as shown:
        begin_again(shown, first_copies=4)
        shown.show(failed(1), watched)
        assert capsys.readouterr().err == ""


def test_a_page_is_not_back_that_never_was_there(capsys):
    with shown_by() as shown:
        shown.begin(
            first_copies=1, failing_or_gone={7: ""}, ahead=lambda: Ahead(None), end=lambda: None
        )
        shown.show(turn(Outcome.CHANGED, first=True), WATCHED)
        assert shown._line().endswith("0 failing or gone")
    assert "back" not in capsys.readouterr().err


def test_the_live_line_is_no_longer_than_the_terminal(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    [line] = live_lines(terminal, Ahead(None, first_copies=5, compiling=True))
    assert len(line) == 58
    assert line.endswith("first copies: 0 of …")


def test_without_a_terminal_it_is_said_when_all_first_copies_were_asked_for(capsys):
    watched = {i: Watched(Page(i, URL, seen_at=i or None), PageMemory()) for i in range(3)}

    def polled(page_id: int, outcome: Outcome) -> Progress:
        report = PollReport(PollResult(Observation(page_id, 86_400.0, outcome), PageMemory()))
        copied = {page_id} if outcome is Outcome.CHANGED else ()
        return Progress((), (report,), frozenset(copied))

    with shown_by() as shown:
        shown.begin(first_copies=3, ahead=lambda: Ahead(None), end=lambda: None)
        for page_id, outcome in (
            (1, Outcome.CHANGED),
            (0, Outcome.POSTPONED),
            (0, Outcome.FAILED),
            (0, Outcome.FAILED),
        ):
            shown.show(polled(page_id, outcome), watched)
        assert "first copies" not in capsys.readouterr().err
        shown.show(polled(2, Outcome.CHANGED), watched)
        shown.show(polled(0, Outcome.FAILED), watched)
        assert capsys.readouterr().err.splitlines() == [
            "first copies: 2 of 3; 1 page gave none, and will be tried again"
        ]


def test_a_long_watch_without_a_terminal_says_at_times_how_it_stands(capsys, monkeypatch):
    times = iter((0.0, 0.0, 59.0, 60.0, 61.0, 119.0, 120.0))
    monkeypatch.setattr(display.time, "monotonic", lambda: next(times))
    with shown_by() as shown:
        capsys.readouterr()
        for _ in range(6):
            shown.show(turn(Outcome.UNCHANGED), WATCHED)
        lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{n} polls, 0 changes, 0 failing or gone" for n in (3, 6)]


def test_a_watch_tells_what_it_masks_and_a_page_that_always_differs_once(capsys):
    def poll(outcome: Outcome, in_a_row: int, *masked: str) -> Progress:
        memory = PageMemory(noise=Noise(changes_in_a_row=in_a_row))
        result = PollResult(Observation(7, 86_400.0, outcome), memory, masked=masked)
        return Progress((), (PollReport(result),))

    watch(
        poll(Outcome.UNCHANGED, 0, "Now: 12:03", "Visitor 17"),
        *(poll(Outcome.CHANGED, n) for n in (11, 12, 13)),
        poll(Outcome.UNCHANGED, 0),
        *(poll(Outcome.CHANGED, n) for n in (11, 12, 13)),
    )
    _, err = capsys.readouterr()
    moment = "1970-01-02 00:00:00"
    news = [
        "masked as noise (Now: 12:03; Visitor 17)",
        f"differs at every poll (`pollwise check '{URL}' --db x.db` shows what: leave that out"
        " (`set --ignore`), watch its feed instead, or give it less weight)",
    ]
    lines = [line for line in err.splitlines()[1:-1] if "not shown" not in line]
    assert lines == [f"{moment}  {what}  {URL}" for what in news]


HOSTS = {
    i: Watched(Page(i, f"http://{i}.example/", f"{i}.example", seen_at=1.0), PageMemory())
    for i in range(5)
}
NO_NETWORK = "no connection to {}.example:80 (Temporary failure in name resolution)"


def polled(page_id: int, error: str | None = None) -> Progress:
    """A poll of one of `HOSTS`."""
    outcome = Outcome.UNCHANGED if error is None else Outcome.FAILED
    if error is not None and error.startswith("no network"):
        outcome = Outcome.POSTPONED
    result = PollResult(Observation(page_id, 86_400.0, outcome), PageMemory(), error=error)
    return Progress((), (PollReport(result),))


def test_without_a_network_one_line_tells_of_all_pages_and_another_that_it_is_back(capsys):
    with shown_by() as shown:
        for turn_ in (
            polled(0, NO_NETWORK.format(0)),
            *(polled(i, "no network: " + NO_NETWORK.format(i)) for i in (1, 2, 3, 1)),
            *(polled(i) for i in (4, 2, 1, 0)),
            polled(1, NO_NETWORK.format(1)),  # the names of one host alone
            polled(1),
        ):
            shown.show(turn_, HOSTS)
    failed = "failed (no connection to {0}.example:80 (Temporary failure in name resolution))"
    why = '"Temporary failure in name resolution"'
    assert capsys.readouterr().err.splitlines()[1:-1] == [
        f"{MOMENT}  {failed.format(0)}  http://0.example/",
        f"no network: 2 of 5 pages failed with {why}, and none answered; more that fail so are not"
        " told",
        f"the network is back: 4 of 5 pages had failed with {why}",
        f"{MOMENT}  back  http://0.example/",
        f"{MOMENT}  {failed.format(1)}  http://1.example/",
        f"{MOMENT}  back  http://1.example/",
    ]


def test_hosts_that_answer_over_kept_connections_do_not_say_that_the_network_is_back(capsys):
    with shown_by() as shown:
        shown.show(polled(0, NO_NETWORK.format(0)), HOSTS)
        for _ in range(3):
            for i in (1, 2, 0):
                shown.show(polled(i, "no network: " + NO_NETWORK.format(i)), HOSTS)
            shown.show(polled(4), HOSTS)
        shown.show(polled(1, NO_NETWORK.format(1)), HOSTS)  # other names can be looked up again
        for i in (0, 2, 1):
            shown.show(polled(i), HOSTS)
    why = "no connection to {0}.example:80 (Temporary failure in name resolution)"
    short = '"Temporary failure in name resolution"'
    assert capsys.readouterr().err.splitlines()[1:-1] == [
        f"{MOMENT}  failed ({why.format(0)})  http://0.example/",
        f"no network: 2 of 5 pages failed with {short}, and none answered; more that fail so are"
        " not told",
        f"the network is back: 3 of 5 pages had failed with {short}",
        f"{MOMENT}  failed ({why.format(1)})  http://1.example/",
        *(f"{MOMENT}  back  http://{i}.example/" for i in (0, 1)),
    ]


def test_that_the_network_is_back_is_told_once_the_fetcher_knows(capsys):
    is_away = True
    with shown_by() as shown:
        shown.begin(
            first_copies=0,
            ahead=lambda: Ahead(None),
            end=lambda: None,
            network_is_away=lambda: is_away,
        )
        shown.show(polled(0, NO_NETWORK.format(0)), HOSTS)
        for i in (1, 2, 4, 0):
            shown.show(polled(i, None if i == 4 else "no network: " + NO_NETWORK.format(i)), HOSTS)
        is_away = False
        for i in (4, 0, 1):
            shown.show(polled(i), HOSTS)
    lines = capsys.readouterr().err.splitlines()[2:-1]
    why = '"Temporary failure in name resolution"'
    assert lines == [
        f"no network: 2 of 5 pages failed with {why}, and none answered; more that fail so are not"
        " told",
        f"the network is back: 3 of 5 pages had failed with {why}",
        f"{MOMENT}  back  http://0.example/",
    ]


def test_after_an_outage_pages_tell_of_their_troubles_again(capsys):
    with shown_by() as shown:
        for turn_ in (
            polled(2, "status 500"),
            polled(0, NO_NETWORK.format(0)),
            *(polled(i, "no network: " + NO_NETWORK.format(i)) for i in (1, 2, 0)),
            polled(3),
            polled(1, "status 500"),  # had failed unseen
            polled(1, "status 500"),
            *(polled(i) for i in (1, 0, 2)),
            polled(1, "status 503"),
        ):
            shown.show(turn_, HOSTS)
    lines = capsys.readouterr().err.splitlines()[1:-1]
    assert [line for line in lines if "network" not in line] == [
        f"{MOMENT}  failed (status 500)  http://2.example/",
        f"{MOMENT}  failed ({NO_NETWORK.format(0)})  http://0.example/",
        f"{MOMENT}  failed (status 500)  http://1.example/",
        *(f"{MOMENT}  back  http://{i}.example/" for i in (1, 0, 2)),
        f"{MOMENT}  failed (status 503)  http://1.example/",
    ]


def test_what_changes_where_another_page_redirects_to_is_told_once_and_with_the_right_hint(capsys):
    urls = {1: "http://a.example/", 2: "http://b.example/"}
    watched = {i: Watched(Page(i, url), PageMemory()) for i, url in urls.items()}

    def polled(page_id: int, text: str, *, gone: bool = False) -> Progress:
        memory = PageMemory(text_hash=text, noise=Noise(changes_in_a_row=12))
        outcome = Outcome.GONE if gone else Outcome.CHANGED
        result = PollResult(Observation(page_id, 86_400.0, outcome), memory)
        report = PollReport(result, answered_by=urls[2] if page_id == 1 else None)
        return Progress((), (report,), gone_or_back=frozenset({page_id} if gone else ()))

    with shown_by() as shown:
        for text in ("x", "y"):
            for page_id in (1, 2):
                shown.show(polled(page_id, text), watched)
        for page_id in (2, 1):
            shown.show(polled(page_id, "y", gone=True), watched)
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"{MOMENT}  {urls[1]}",
        f"{MOMENT}  {urls[1]}",
        f"{MOMENT}  {urls[2]}  (gone)",
    ]
    redirect, restless = err.splitlines()[1:-1]
    assert redirect == (
        f"{MOMENT}  redirects to {urls[2]}, which is watched as well (what changes there is shown"
        f" once, notices tell it of both; `pollwise remove {urls[1]} --db x.db` saves these polls)"
        f"  {urls[1]}"
    )
    assert "differs at every poll" in restless
    assert restless.endswith(urls[2])


def test_that_a_list_is_not_read_to_its_end_is_told_once(capsys):
    [report] = turn(Outcome.UNCHANGED).reports
    cut = Progress((), (replace(report, left_out="9 more are left out"),), frozenset())
    watch(cut, turn(Outcome.UNCHANGED), cut)
    _, *lines, _ = capsys.readouterr().err.splitlines()
    assert lines == [f"{MOMENT}  9 more are left out  {URL}"]


def test_that_a_host_is_left_alone_with_all_its_pages_is_told(capsys):
    scopes = ("a.example", "a.example", "b.example")
    watched = {
        i: Watched(Page(i, f"http://{s}/{i}", s), PageMemory()) for i, s in enumerate(scopes)
    }

    def failed(page_id: int, seconds: float) -> Progress:
        seen = Observation(page_id, 86_400.0, Outcome.FAILED)
        block = HostBlocked(86_400.0, scopes[page_id], 86_400.0 + seconds)
        result = PollResult(seen, PageMemory(), None, "status 503")
        return Progress((), (PollReport(result, (block,)),))

    with shown_by() as shown:
        for progress in (failed(0, 120.0), failed(0, 120.0), failed(1, 2.0), failed(2, 60.0)):
            shown.show(progress, watched)
    lines = capsys.readouterr().err.splitlines()[1:-1]
    assert lines == [
        f"{MOMENT}  failed (status 503; a.example is left alone until 1970-01-02 00:02:00, with its"
        " 2 pages)  http://a.example/0",
        f"{MOMENT}  failed (status 503)  http://a.example/1",
        f"{MOMENT}  failed (status 503; b.example is left alone until 1970-01-02 00:01:00)"
        "  http://b.example/2",
    ]
