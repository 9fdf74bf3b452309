import pickle

import pytest
import scrapy
from scrapy.http import Request

from pollwise.scrapy.templates import pack, unpack


class TwoCallbacks(scrapy.Spider):
    name = "two"

    def parse_item(self, response):
        pass

    def failed(self, failure):
        pass


def test_a_request_comes_back_as_it_was():
    spider = TwoCallbacks()
    request = Request(
        "https://example.org/a?b=1",
        callback=spider.parse_item,
        errback=spider.failed,
        headers={"Referer": "https://example.org/"},
        cookies={"a": "b"},
        meta={"depth": 3, "any": ("thing", {1})},
        cb_kwargs={"number": 7},
        priority=2,
        dont_filter=True,
        flags=["x"],
    )
    packed = pack(request, spider)
    again = unpack(packed, spider)
    assert again.to_dict(spider=spider) == request.to_dict(spider=spider)
    assert again is not request


def test_the_class_of_a_request_is_kept():
    request = scrapy.FormRequest("https://example.org/", method="GET", formdata={"q": "1"})
    again = unpack(pack(request, TwoCallbacks()), TwoCallbacks())
    assert (type(again), again.url) == (scrapy.FormRequest, "https://example.org/?q=1")


def test_what_is_by_default_takes_no_room():
    packed = pack(Request("https://example.org/"), TwoCallbacks())
    assert pickle.loads(packed) == {"url": "https://example.org/"}


@pytest.mark.parametrize("name", ["meta", "cb_kwargs"])
def test_what_cannot_be_pickled(name):
    told = {name: {"function": lambda: None}}
    assert pack(Request("https://example.org/", **told), TwoCallbacks()) is None


def test_a_callback_that_is_no_method():
    told = {"callback": lambda response: None}
    assert pack(Request("https://example.org/", **told), TwoCallbacks()) is None


def test_a_callback_that_is_gone():
    class Other(scrapy.Spider):
        name = "other"

    spider = TwoCallbacks()
    packed = pack(Request("https://example.org/", callback=spider.parse_item), spider)
    with pytest.raises(ValueError, match="'parse_item' not found"):
        unpack(packed, Other())
