"""Looks at a page that says something new at every poll."""

from datetime import UTC, datetime

import pytest

from pollwise.sources.reading import read
from pollwise.types import PageMemory
from pollwise.web.change import compare
from pollwise.web.noise.looks import is_due, judged_again

HTML = "text/html"
NEWS = {
    "every hour": (3600, "<h1>River</h1><p>{:%d.%m. %H:00} Uhr: {} cm"),
    "every ten minutes": (600, "<h1>Price</h1><p>{:%H:%M} 1.{} USD"),
    "every day": (86_400, "<h1>Advisories</h1><p>Bulletin of {:%d.%m.%Y}, 08:00: {} new ones"),
}


@pytest.mark.parametrize("name", NEWS)
def test_news_of_each_hour_are_no_clock(name):
    """Nothing differs seconds later, whatever the polls found."""
    period, text = NEWS[name]
    memory, latest = PageMemory(), None
    for n in range(20):
        now = datetime.fromtimestamp(1_795_305_600 + n * period, UTC)
        body = text.format(now, 400 + n).encode()
        view = read(body, HTML)
        compared = compare(memory, view)
        if is_due(compared):
            compared = judged_again(memory, compared, [view] * 3, latest)
        assert compared.changed
        memory, latest = compared.memory, view
    assert memory.noise.masks == ()
