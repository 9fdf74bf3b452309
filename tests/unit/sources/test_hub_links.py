"""What feeds name for subscriptions."""

import pytest

from pollwise.sources.feeds import read_feed
from pollwise.sources.view import NO_HUB, HubLinks

ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>{}<entry><id>1</id></entry></feed>'
)
RSS = (
    '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>t</title>{}'
    "<item><guid>1</guid></item></channel></rss>"
)
HUB = HubLinks("https://hub.example/", "/feed")


@pytest.mark.parametrize(
    ("feed", "links"),
    [
        (
            ATOM.format(
                '<link rel="hub" href="https://hub.example/"/><link rel="self" href="/feed"/>'
            ),
            HUB,
        ),
        (ATOM.format('<link rel="Self HUB" href="/feed"/>'), HubLinks("/feed", "/feed")),
        (ATOM.format('<link rel="hub" href="a"/><link rel="hub" href="b"/>'), HubLinks("a", "")),
        (ATOM.format('<link rel="hub"/><link href="x"/><link/>'), NO_HUB),
        (ATOM.format(f'<link rel="hub" href="{"x" * 3000}"/>'), NO_HUB),
        (ATOM.format('<entry><link rel="hub" href="/no"/></entry>'), NO_HUB),
        (
            RSS.format(
                '<link>http://x/</link><atom:link rel="hub" href="https://hub.example/"/>'
                '<atom:link rel="self" href="/feed"/>'
            ),
            HUB,
        ),
        (
            '{"version": "https://jsonfeed.org/version/1.1", "title": "t", "feed_url": "/feed",'
            ' "hubs": [1, {"type": "rssCloud", "url": "/no"},'
            ' {"type": "WebSub", "url": "https://hub.example/"}], "items": []}',
            HUB,
        ),
        (
            '{"version": "https://jsonfeed.org/version/1", "title": "t", "hubs": "x",'
            ' "feed_url": 7, "items": []}',
            NO_HUB,
        ),
    ],
    ids=range(9),
)
def test_the_hub_of_a_feed(feed: str, links: HubLinks) -> None:
    assert read_feed(feed.encode()).hub_links == links
