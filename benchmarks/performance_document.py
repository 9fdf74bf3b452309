"""The text of docs/performance.md, from the measurements of `compare.py`."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["document"]

Row = Mapping[str, Any]

PAGE = """\
# Performance

Made by `python benchmarks/compare.py --scrapy PYTHON --crawlee PYTHON --out docs/performance.md`,
all in one run. Runs on a shared machine differ by a third or so: compare the rows of one run.

{machine}; {versions}.

## What a poll costs

While nothing changes: {pages:,} small pages of 1,000 hosts or more on loopback addresses, each poll
answered "304 Not Modified" by another process. pollwise decides, learns, and keeps every poll in
its database; Scrapy and crawlee ask for a page of each of 1,000 hosts with its validator, again and
again as fast as they can, and keep nothing.

| program | polls asked for | polls a second | CPU a poll, microseconds | memory, MB |
|---|---|--:|--:|--:|
{again}

CPU is that of the process and of those that it begins, all threads. Where fewer polls are made than
asked for, a core is busy all the time.

## What a page in full costs

1,000 pages of 43 kB with 100 links, one on each host, without validators, so that every poll is
answered with all of it. A body that is the same to the byte pollwise does not read; of others it
compares the visible text with that of the latest copy, looks for noise by two more fetches now and
then, keeps what changed, and says what differs. Scrapy and crawlee take a hash of the text of each.

| program | polls asked for | polls a second | CPU a poll, microseconds | memory, MB |
|---|---|--:|--:|--:|
{read}

## What a page of a crawl costs

The same pages, {crawled:,} of them, found by their links from one page of each host on, without a
pause between two requests. `pollwise collect` judges pages and links by a topic, keeps copies and
links, and can search them; Scrapy and crawlee follow all links, get title and text, and keep
nothing.

| program | polls asked for | polls a second | CPU a poll, microseconds | memory, MB |
|---|---|--:|--:|--:|
{crawl}

## What a decision costs

One core, in the middle of a run in which each page has been polled twice, and later, when each has
been polled twelve times (`benchmarks/engine.py`). A decision is one page selected and its poll
observed; beyond some thousand pages it waits for memory. At first more pages are counted at each
poll, and those that wait find new places as the price falls. nutch and stormcrawler are the
schedules of these crawlers as rules: they learn no change rates.

| policy | pages | decisions a second | later | bytes a page |
|---|--:|--:|--:|--:|
{decisions}

While pages are added, 1,000 at a time, a poll waits for one addition or one decision. The longest
of each:

| policy | up to pages | adding 1,000, milliseconds | a decision, milliseconds |
|---|--:|--:|--:|
{growth}

With drawing the changes of the world, bayes-index: {simulated:,.0f} simulated polls a second of
500 pages.

## What a poll of the published learners costs

One core, in the abstract environment (`benchmarks/learners.py`): selecting a page, looking up its
amount, drawing and learning its reward.

| learner | pages | nanoseconds a poll |
|---|--:|--:|
{learners}
"""


def document(measured: Row, machine: str, versions: Sequence[str]) -> str:
    """The page; `measured` is what `compare.py --json` prints."""
    return PAGE.format(
        machine=machine,
        versions=", ".join(versions),
        pages=measured["pages"],
        crawled=measured["crawled"],
        again=_polls(measured["again"]),
        read=_polls(measured["read"]),
        crawl=_polls(measured["crawl"]),
        decisions="\n".join(
            f"| {one['policy']} | {one['pages']:,} | {one['decisions_per_second']:,.0f}"
            f" | {_whole(one['later_decisions_per_second'])} | {one['bytes_per_page']:.0f} |"
            for one in measured["decisions"]
        ),
        growth="\n".join(
            f"| bayes-index | {one['pages']:,} | {1e3 * one['adding']:.1f}"
            f" | {1e3 * one['deciding']:.1f} |"
            for one in measured["growth"]
        ),
        simulated=measured["simulated_polls_per_second"],
        learners="\n".join(
            f"| {one['learner']} | {one['pages']:,} | {one['nanoseconds']:.0f} |"
            for one in measured["learners"]
        ),
    )


def _whole(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}"


def _polls(costs: Sequence[Row]) -> str:
    return "\n".join(
        f"| {one['program']} | {one['asked']} | {one['polls_per_second']:.0f}"
        f" | {one['microseconds']:,.0f} | {one['memory']:.0f} |"
        for one in costs
    )
