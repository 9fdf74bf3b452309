"""What a frontier has learned, read beside it."""

import pytest

from pollwise.errors import InputError, StoreError
from pollwise.frontier import discovered, estimates, known

DAY = 86_400.0
DAILY, QUIET = "http://example.org/news", "http://example.org/terms"


@pytest.mark.parametrize("crawl_id", ["", "other"])
def test_what_was_learned_can_be_read_while_it_is_served(crawl, crawl_id):
    crawl.put(*(discovered(url, crawl=crawl_id) for url in (DAILY, QUIET)))
    crawl.put(discovered("http://example.org/never-fetched", crawl=crawl_id))
    assert len(crawl.get()) == 3
    for day in range(30):
        for url in (DAILY, QUIET):
            metadata = {"signature": [str(day) if url == DAILY else "same"]}
            crawl.put(known(url, int(crawl.now + DAY), metadata=metadata, crawl=crawl_id))
        crawl.now += DAY
    told = dict(estimates(crawl.path, crawl_id, now=crawl.now))
    assert [*told] == [DAILY, QUIET]
    daily, quiet = told[DAILY], told[QUIET]
    assert (daily.polls, quiet.polls) == (29, 29)
    assert daily.rate_low * DAY > 0.5
    assert quiet.rate_high * DAY < 0.5


def test_what_cannot_be_read_is_named(crawl, tmp_path):
    (tmp_path / "text").write_text("no frontier " * 1000)
    crawl.put(discovered(DAILY))
    for path, name, error, message in (
        (crawl.path, "none", InputError, "has no crawl none: name one of DEFAULT"),
        (tmp_path / "none.db", "", StoreError, "there is no such file"),
        (tmp_path / "text", "", StoreError, "text"),
    ):
        with pytest.raises(error, match=message):
            list(estimates(path, name))
    assert [*estimates(crawl.path)] == []
