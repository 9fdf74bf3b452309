import pickle

import pytest
from scrapy.http import FormRequest, Request

from pollwise.scrapy.polls import Poll, page_of, poll_of


@pytest.mark.parametrize(
    ("request_", "page"),
    [
        (Request("HTTP://Example.org:80/a/../b?q=1#top"), "http://example.org/b?q=1"),
        (Request("https://example.org/", method="HEAD"), None),
        (Request("https://example.org/", body="q"), None),
        (FormRequest("https://example.org/", formdata={"q": "1"}), None),
        (
            FormRequest("https://example.org/", formdata={"q": "1"}, method="GET"),
            "https://example.org/?q=1",
        ),
        (Request("data:text/plain,x"), None),
        (Request("ftp://example.org/"), None),
        (Request("https://me:secret@example.org/"), None),
    ],
)
def test_pages_are_asked_for_by_plain_gets(request_, page):
    assert page_of(request_) == page


def test_a_poll_goes_over_to_what_is_made_from_its_request_until_it_ends():
    request = Request("https://example.org/")
    assert poll_of(request) is None
    poll = Poll("https://example.org/")
    poll.attach(request)
    redirected = request.replace(url="https://example.org/new")
    assert poll_of(redirected) is poll
    poll.under_way = False
    copied = Request("https://example.org/other", meta=redirected.meta)
    assert poll_of(copied) is poll_of(redirected) is None
    assert Poll.latest_of(copied) is poll
    Poll.detach(copied)
    assert Poll.latest_of(copied) is None


def test_a_poll_survives_the_queues_on_the_disk():
    request = Request("https://example.org/")
    Poll("https://example.org/").attach(request)
    assert pickle.loads(pickle.dumps(request.meta)) == request.meta


def test_foreign_values_are_no_poll():
    assert poll_of(Request("https://example.org/", meta={"pollwise_poll": "x"})) is None
