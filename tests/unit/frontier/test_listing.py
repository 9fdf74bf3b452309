"""Lists of URLs, read beside the frontier."""

import pytest

from pollwise.frontier import discovered
from pollwise.frontier.listing import Listing, Wanted
from pollwise.frontier.store import FrontierReader


@pytest.fixture
def listing(crawl):
    hosts = [f"{number:03}.org" for number in range(600)]
    crawl.put(*(discovered(f"http://{host}/{name}") for host in hosts for name in "ab"))
    crawl.put(*(discovered(f"http://many.org/{number:04}") for number in range(1300)))
    crawl.put(discovered("http://other.org/", crawl="B"))
    reader = FrontierReader(crawl.path)
    yield Listing(reader)
    reader.close()


def urls(listing, start, size, key="", text="", crawl=""):
    parts = [*listing.parts(Wanted(crawl, key, text, False), start, size)]
    assert all(len(part) <= 500 for part in parts)
    return [item.known.info.url for part in parts for item in part]


def test_all_of_a_crawl_in_one_order(listing):
    everything = urls(listing, 0, 10_000)
    assert len(everything) == len(set(everything)) == 2500
    for start, size in ((0, 7), (1, 1), (3, 600), (1199, 3), (2000, 1000), (2499, 5), (2500, 5)):
        assert urls(listing, start, size) == everything[start : start + size]
    assert urls(listing, 0, 9, crawl="B") == ["http://other.org/"]
    assert urls(listing, 0, 9, crawl="C") == []


def test_those_of_a_queue_or_with_a_text(listing):
    assert urls(listing, 1295, 10, key="many.org")[0] == "http://many.org/1295"
    assert urls(listing, 0, 10, key="none.org") == []
    with_text = urls(listing, 0, 10_000, text="/12")
    assert len(with_text) == 120
    assert urls(listing, 115, 10, text="/12") == with_text[115:]
    assert listing.count(Wanted("", "", "/12", False)) == 120
    assert listing.count(Wanted("", "", "", False)) == 2500


def test_no_list_is_sorted_anew(listing, crawl):
    statements = set()
    listing._reader._sqlite.set_trace_callback(statements.add)
    urls(listing, 700, 1000)
    listing.count(Wanted("", "many.org", "", False))
    listing.status("http://many.org/0001", "", "")
    listing._reader._sqlite.set_trace_callback(None)
    for statement in statements:
        plan = [row[3] for row in crawl.store.rows(f"EXPLAIN QUERY PLAN {statement}")]
        assert not any("SCAN" in step or "TEMP" in step for step in plan), (statement, plan)
