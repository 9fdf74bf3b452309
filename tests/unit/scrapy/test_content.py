import pytest
import scrapy
from scrapy.http import HtmlResponse, Response, TextResponse

from pollwise.errors import InputError
from pollwise.scrapy.content import content_hash

URL = "https://example.org/"
FEED = """<rss version="2.0"><channel><title>T</title><lastBuildDate>{date}</lastBuildDate>
<item><guid>1</guid><title>{title}</title><link>https://example.org/1</link></item></channel></rss>"""


class Plain(scrapy.Spider):
    name = "plain"


def html(body):
    return HtmlResponse(URL, body=body.encode(), headers={"Content-Type": "text/html"})


def test_of_html_the_visible_text_counts():
    one, other = html("<p id=1>News</p>"), html("<p id=2>News</p><script>1</script>")
    assert content_hash(one, Plain()) == content_hash(other, Plain())
    assert content_hash(one, Plain()) != content_hash(html("<p>Other"), Plain())


def test_of_a_feed_the_items_count():
    def feed(date, title):
        body = FEED.format(date=date, title=title).encode()
        return TextResponse(URL, body=body, headers={"Content-Type": "application/rss+xml"})

    first = content_hash(feed("Sun, 01 Nov 2026 08:00:00 GMT", "A"), Plain())
    assert content_hash(feed("Mon, 02 Nov 2026 08:00:00 GMT", "A"), Plain()) == first
    assert content_hash(feed("Mon, 02 Nov 2026 08:00:00 GMT", "B"), Plain()) != first


def test_of_a_broken_feed_each_byte_counts():
    bodies = [b"<rss version='2.0'>" + end for end in (b"1", b"2")]
    first, other = (
        content_hash(Response(URL, body=body, headers={"Content-Type": "text/xml"}), Plain())
        for body in bodies
    )
    assert first != other


def test_without_a_content_type():
    assert content_hash(Response(URL, body=b"1"), Plain()) != content_hash(
        Response(URL, body=b"2"), Plain()
    )


def test_the_spider_may_say_what_counts():
    class Own(scrapy.Spider):
        name = "own"
        value = "text"

        def pollwise_content(self, response):
            return self.value

    spider = Own()
    assert content_hash(html("1"), spider) == content_hash(html("2"), spider)
    spider.value = b"text"
    assert content_hash(html("1"), spider) == content_hash(html("2"), spider)
    spider.value = None
    with pytest.raises(InputError, match="NoneType is neither text nor bytes: return one of them"):
        content_hash(html("1"), spider)
