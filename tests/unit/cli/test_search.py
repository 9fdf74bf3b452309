"""`pollwise search` and `pollwise export` in this process: what they answer and refuse."""

import json
from pathlib import Path

import pytest

from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

from .calling import Answer, Run

SITE = "https://a.example/"


def of(*collected: Collected) -> tuple[Discoveries, ...]:
    return tuple(Discoveries(collected=each) for each in collected)


@pytest.fixture(autouse=True)
def collection(tmp_path: Path) -> None:
    """Two pages."""
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([NewPage(f"{SITE}whales"), NewPage(f"{SITE}[bold]")], now=0.0)
        texts = {0: ("Whales", "A blue whale. " * 20), 1: ("\x1b[2J\nOdd", "A [red]whale[/] \x1b")}
        store.commit(
            Batch(
                polls=tuple(
                    PollResult(
                        Observation(n, 1.0, Outcome.CHANGED),
                        PageMemory(),
                        Version(n, 1.0, "text/html", b"%d" % n, f"{n}"),
                    )
                    for n in texts
                ),
                discovered=of(*(Collected(n, 0.5 + n / 4, *text) for n, text in texts.items())),
            )
        )


def test_a_watch_is_not_searched(run: Run) -> None:
    with Store.open("pollwise.db") as store:
        store.start_run(2.0, {"budget": "5/hour", "objective": "detection"}, None)
    assert_refused(run("search", "whale"), "pollwise.db holds a watch", "`pollwise collect`")


def assert_refused(answer: Answer, *parts: str) -> None:
    assert (answer.status, answer.out) == (2, "")
    [line] = answer.err.splitlines()
    assert all(part in line for part in parts), line


def test_hits_for_people(run: Run) -> None:
    answer = run("search", "whale")
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert "1. Whales  relevance 0.50" in lines
    assert f"   {SITE}whales" in lines
    assert any(line.startswith("   A blue whale. A blue whale.") for line in lines)
    # What a page says is shown as it is, but moves no cursor.
    assert "2.  [2J Odd  relevance 0.75" in lines
    assert f"   {SITE}[bold]" in lines
    assert "   A [red]whale[/]" in lines
    assert all(line.isprintable() for line in lines)


def test_hits_for_programs(run: Run) -> None:
    answer = run("search", "blue", "whale", "--json")
    assert (answer.status, answer.err) == (0, "")
    document = json.loads(answer.out)
    [hit] = document["results"]
    assert (document["query"], hit["url"], hit["title"]) == (
        "blue whale",
        SITE + "whales",
        "Whales",
    )
    assert hit["marks"][0] == [2, 6]
    assert hit["snippet"][2:6] == "blue"
    assert hit["relevance"] == 0.5
    assert 0 < hit["score"] <= 1


def test_so_many_hits_and_what_must_not_be_there(run: Run) -> None:
    assert len(json.loads(run("search", "whale", "--limit", "1", "--json").out)["results"]) == 1
    [hit] = json.loads(run("search", "whale -blue", "--json").out)["results"]
    assert hit["page_id"] == 1


def test_no_hit_is_said(run: Run) -> None:
    assert run("search", "squid") == (0, "no page of pollwise.db fits 'squid'\n", "")
    answer = {"query": "squid", "copies": 0, "results": []}
    assert json.loads(run("search", "squid", "--json").out) == answer


def test_copies_are_told_where_nothing_is_found(run: Run) -> None:
    with Store.open("pollwise.db") as store:
        copy = Collected(1, 0.0, "Whales", "A blue whale. " * 20, duplicate_of=0)
        seen = PollResult(Observation(1, 2.0, Outcome.CHANGED), PageMemory())
        store.commit(Batch(polls=(seen,), discovered=of(copy)))
    told = "no page of pollwise.db fits 'squid'; left out, as they are copies of others: 1\n"
    assert run("search", "squid") == (0, told, "")
    assert "copies" not in run("search", "whale").out
    for words in ("squid", "whale"):
        assert json.loads(run("search", words, "--json").out)["copies"] == 1


def test_what_cannot_be_searched(run: Run) -> None:
    assert_refused(run("search", "+++"), "nothing to look for", "'+++'", "give a word")
    assert_refused(run("search", "whale", "--db", "none.db"), "none.db does not exist")
    assert_refused(run("search"), "Missing argument", "'pollwise search --help'")
    assert_refused(run("search", "whale", "--limit", "0"), "--limit", "1")


def test_an_export(run: Run, tmp_path: Path) -> None:
    answer = run("export", "x.jsonl", "--min-relevance", "0.6")
    assert answer == (0, "", "pages written to x.jsonl: 1\n")
    assert json.loads((tmp_path / "x.jsonl").read_text())["url"] == f"{SITE}[bold]"
    assert_refused(run("export", "x.jsonl"), "x.jsonl exists already", "--force")
    assert run("export", "x.jsonl", "--force").status == 0
    assert run("add", "https://new.example/", "--db", "new.db").status == 0
    left_out = "pages written to new.opml: 0; left out, as there is no copy yet: 1\n"
    assert run("export", "new.opml", "--db", "new.db") == (0, "", left_out)
    told = "pages written to x.opml: 0; left out, as they are no feeds: 2\n"
    assert run("export", "x.opml") == (0, "", told)
    assert run("export", "y", "--format", "parquet").status == 0
    assert (tmp_path / "y").read_bytes().startswith(b"PAR1")


def test_an_export_to_stdout(run: Run) -> None:
    answer = run("export", "-", "--format", "jsonl")
    assert (answer.status, answer.err) == (0, "pages written: 2\n")
    assert [json.loads(line)["page_id"] for line in answer.out.splitlines()] == [0, 1]


def test_a_file_may_have_the_name_of_stdout(run: Run, tmp_path: Path) -> None:
    assert run("export", "./-", "--format", "jsonl") == (0, "", "pages written to -: 2\n")
    assert len((tmp_path / "-").read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/dev/null", "/dev/../dev/stderr"])
def test_an_export_to_a_device_says_how_to_write_to_stdout(run: Run, name: str) -> None:
    for more in ([], ["--format", "jsonl"], ["--format", "jsonl", "--force"]):
        told = f"{name} is a device: name a file, or - with --format for standard output"
        assert_refused(run("export", name, *more), told)


def test_feeds_that_were_imported_are_not_left_out(run: Run, tmp_path: Path) -> None:
    feed = '<opml><outline text="News" xmlUrl="https://new.example/feed"/></opml>'
    (tmp_path / "feeds.opml").write_text(feed)
    run("import", "feeds.opml", "--db", "new.db")
    run("add", "https://new.example/", "--db", "new.db")
    told = "left out, as there is no copy yet:"
    for name, line in (("x.opml", f"1; {told} 1"), ("x.jsonl", f"0; {told} 2")):
        assert run("export", name, "--db", "new.db").err == f"pages written to {name}: {line}\n"


def test_what_cannot_be_exported(run: Run) -> None:
    assert_refused(run("export", "-"), "- is the standard output", "--format")
    assert_refused(
        run("export", "x.csv"), "x.csv", ".jsonl, .txt, .opml, .parquet, .warc.gz", "--format"
    )
    assert_refused(run("export", "x.jsonl", "--db", "none.db"), "none.db does not exist")
    assert_refused(
        run("export", "x.jsonl", "--format", "csv"), "'csv'", "jsonl, txt, opml, parquet, warc"
    )
    assert_refused(run("export"), "Missing argument", "'pollwise export --help'")
