"""What people see of a running collection."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from pollwise.collecting.link_filter import Rejected
from pollwise.console.collecting import CollectDisplay
from pollwise.console.log import LogFormat
from pollwise.live.collection_standing import Standing
from pollwise.live.progress import Progress
from pollwise.store.records import PollResult
from pollwise.types import LikelyLink, Observation, Outcome, Page, PageMemory
from pollwise.watched_pages import Watched
from pollwise.web.poll_reports import PollReport

STANDING = Standing(polls=9, documents=3, relevant=1, fringe=7, hosts=6, taken=6.0)


def test_that_there_is_no_new_page_is_told():
    display = CollectDisplay(subject="whales", budget="1/second", db=Path("p.db"))
    display.show(Progress((), ()), {}, STANDING)
    assert "7 in the fringe" in display._line()
    assert "no new page is known" not in display._line()
    display.show(Progress((), ()), {}, replace(STANDING, fringe=0))
    assert "0 in the fringe" in display._line()
    assert "no new page is known; others rest" in display._line()


def test_a_log_for_collectors_has_an_object_a_line(capsys):
    with CollectDisplay(
        subject="whales", budget="1/second", db=Path("p.db"), log=LogFormat.json
    ) as display:
        display.rejected({Rejected.DENIED: 3})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["notice"] * 3
    assert "collecting pages about whales" in lines[0]["notice"]
    assert lines[1]["notice"].endswith(" 3")


def failed(number: int) -> PollReport:
    seen = Observation(number, float(number), Outcome.FAILED)
    return PollReport(PollResult(seen, PageMemory(), error="no route"))


def test_of_hosts_that_give_no_page_there_is_one_line_and_then_a_count(capsys):
    """Each had a line of its own as long as there was no document."""
    seen = {n: Watched(Page(n, f"http://h{n}.example/"), PageMemory()) for n in range(9)}
    silent = [f"h{n}.example" for n in range(9)]
    now = replace(STANDING, documents=0, silent=silent)
    with CollectDisplay(subject="whales", budget="1/second", db=Path("p.db")) as display:
        for n in range(9):
            display.show(Progress((), (failed(n),)), seen, now)
        told = "9 hosts gave no page: h0.example, h1.example, h2.example and 6 more"
        assert display._line().endswith(f"; {told}")
        display.silent([])
        display.silent(silent)
    _, first, *others, _ = capsys.readouterr().err.splitlines()
    assert "no route" in first
    assert others == [told]
    assert picture(display)[-1].strip() == told


def test_seeds_that_cannot_be_had_are_told_once_each_up_to_ten(capsys):
    """Beside the first trouble none was told, so one of several seeds could fail in silence."""
    seen = {n: Watched(Page(n, f"http://h.example/{n}"), PageMemory()) for n in range(20)}
    seeds = [f"HTTP://h.example/{n}#top" for n in range(2, 15)]
    with CollectDisplay(subject="w", budget="1/second", db=Path("p.db"), seeds=seeds) as display:
        for n in (0, 1, 2, 2, *range(3, 20)):
            display.show(Progress((), (failed(n),)), seen, STANDING)
    told = re.findall(r"no route\)?  http://h.example/(\d+)", capsys.readouterr().err)
    assert told == ["0", *map(str, range(2, 12))]


def test_a_seed_that_is_postponed_is_told_once(capsys):
    """Where robots.txt asks for a day between requests, nothing was said for a day."""
    seen = {n: Watched(Page(n, f"http://h.example/{n}"), PageMemory()) for n in range(2)}
    with CollectDisplay(
        subject="w", budget="1/second", db=Path("p.db"), seeds=["http://h.example/1"]
    ) as display:
        for n in (0, 1, 1):
            waits = replace(failed(n).result.observation, outcome=Outcome.POSTPONED)
            report = PollReport(PollResult(waits, PageMemory(), error="it wants 86400 s"))
            display.show(Progress((), (report,)), seen, STANDING)
        display.show(Progress((), (failed(1),)), seen, STANDING)
    _, *told, _ = (line[21:] for line in capsys.readouterr().err.splitlines())
    assert told == [
        "postponed (it wants 86400 s)  http://h.example/1",
        "failed (no route)  http://h.example/1",
    ]


def test_that_no_page_is_left_is_told(capsys):
    """Where seeds redirect in a circle, a run went on for ever without a word."""
    nothing = replace(STANDING, documents=0, fringe=0)
    with CollectDisplay(subject="w", budget="1/second", db=Path("p.db")) as display:
        for now in (STANDING, replace(nothing, under_way=1), replace(nothing, silent=["a"])):
            display.show(Progress((), ()), {}, now)
            assert "no page is left" not in display._line()
        display.show(Progress((), ()), {}, nothing)
        told = "no page is left to poll, and none had a text: name others with --seed"
        assert told in display._line()
        display.silent([])
    assert capsys.readouterr().err.splitlines()[1] == told


def picture(display: CollectDisplay) -> list[str]:
    console = Console(width=80, file=io.StringIO())
    display._console = console
    console.print(display._picture())
    return console.file.getvalue().splitlines()


def test_what_a_person_sees_fits_a_terminal():
    """Totals of all runs, the pace, what hosts take, and the links that come next."""
    seen = {n: Watched(Page(n, f"http://sea.example/{'x' * 90}"), PageMemory()) for n in range(10)}
    display = CollectDisplay(subject="whales", budget="50/second", db=Path("p.db"))
    display._made_at -= 40.0
    assert re.search("getting ready, 4[0-9] s so far", picture(display)[0])
    links = [LikelyLink(n, 0.5, "all the whales") for n in (3, 11, 4, 5, 6)]
    display.show(
        Progress((), ()),
        seen,
        Standing(12_345_678, 99_999, 99_999, 10, hosts=6, taken=6.0, links=links),
    )
    lines = picture(display)
    assert max(map(len, lines)) <= 80
    assert "12,346k polls, 99,999 documents, 99,999 relevant, 10 in the fringe" in lines[0]
    assert "0 relevant a minute of the last 5, 6 hosts" in lines[1]
    assert "6 hosts take 6 requests a second of the 50" in lines[2]
    assert [line.split()[0] for line in lines[3:]] == ["next"] * 2
    assert "0.50  all the whales  http://sea" in lines[3]


def test_the_last_line_fits_a_terminal(capsys):
    seen = {0: Watched(Page(0), PageMemory())}
    with CollectDisplay(subject="whales", budget="1/second", db=Path("p.db")) as display:
        display.show(Progress((), ()), seen, Standing(99_999_999, 9_999_999, 999_999, 1, 9, 1.0))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("stopped: 100,000k polls")
    assert len(last) <= 80
