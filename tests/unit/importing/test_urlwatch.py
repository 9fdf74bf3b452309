"""The job list of urlwatch: selectors in all the ways in which they are written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.importing.urlwatch import read_urlwatch

from .one_line import read_or_refused

JOBS = b"""
name: one
url: https://one.example/#part
filter:
  - css: main > article
  - xpath: {path: //p, exclude: "//p[@class='ad']"}
  - html2text
---
url: https://two.example/
filter: element-by-id:content,strip
tags: [news, a b]
enabled: false
---
url: https://three.example/
filter:
  - element-by-class: {class: price}
  - grepi: "visits?: [0-9]+"
  - re.sub: {pattern: "[0-9]{2}:[0-9]{2}"}
  - shellpipe: sort
ssl_no_verify: true
---
command: date
name: the time
---
navigate: https://browser.example/
---
just a text
---
url: ftp://four.example/
"""


def test_jobs_become_pages():
    read = read_urlwatch(JOBS)
    one, two, three = read.pages
    assert (one.url, one.scope) == ("https://one.example/", "one.example")
    assert (one.name, two.name) == ("one", None)
    assert one.select == ("main > article", "xpath://p")
    assert one.ignore == ("xpath://p[@class='ad']",)
    assert (two.select, two.tags, two.paused) == (("#content",), ("news", "a-b"), True)
    assert three.select == (".price",)
    assert three.ignore == ("re:.*(?:visits?: [0-9]+).*", "re:[0-9]{2}:[0-9]{2}")
    assert three.paused is None
    assert read.left_out == (
        "https://three.example/: the filter shellpipe has no counterpart: what counts is .price"
        " without re:.*(?:visits?: [0-9]+).*, re:[0-9]{2}:[0-9]{2}",
        "https://three.example/: without ssl_no_verify",
        "job 4: the time cannot be polled (command)",
        "job 5: a job with navigate",
        "job 6: 'just a text' is no job",
        "job 7: ftp is not fetched: 'ftp://four.example/'; give a URL that begins with http:// or"
        " https://",
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no jobs"),
        (b"url: [", "no YAML"),
        (b"a: 1\n---\n- 2", "no jobs"),
        (b"\x00", "no YAML"),
        (b"!!python/object/apply:os.system [ls]", "no YAML"),
        (b"url: !!bool maybe", "no YAML"),
        (b'url: !!int ""', "no YAML"),
        (b'url: !!timestamp "foo"', "no YAML"),
        (b"url: http://a.example/\ntags: " + 100_000 * b"[", "nested"),
        (b"url: http://a.example/\ntags: " + 101 * b"{a: ", "nested"),
        (b"a: &a [x]\nurl: http://a.example/\ntags: *a", "aliases"),
    ],
)
def test_what_is_no_job_list_is_said_in_a_line(data, told):
    with pytest.raises(InputError, match=told) as caught:
        read_urlwatch(data)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "job",
    [
        "url: http://a.example/\ntags: {}",
        "url: http://a.example/\ntags: [{}]",
        "url: http://a.example/\nfilter: {}",
        "url: http://a.example/\nfilter: [{{css: {}}}]",
        "command: ls\nname: {}",
        "{}",
    ],
)
def test_a_number_too_long_to_be_written_out_is_left_out(job):
    """YAML reads hexadecimal ones of any length."""
    read = read_urlwatch(
        f"{job.format('0x' + 5_000 * 'f')}\n---\nurl: http://b.example/\n".encode()
    )
    assert [page.url for page in read.pages] == ["http://b.example/"]
    assert len(read.left_out) == 1


def test_a_job_is_kept_without_the_expressions_that_are_of_no_use_here():
    job = """
url: https://a.example/
filter:
  - xpath: for $p in //p return string($p)
  - grepi: (?<=x)y
  - grepi: seen
"""
    found = read_urlwatch(job.encode())
    [page] = found.pages
    assert (page.select, page.ignore) == (None, ("re:.*(?:seen).*",))
    assert found.left_out == (
        "https://a.example/: the filters 'xpath:for $p in //p return string($p)',"
        " 're:.*(?:(?<=x)y).*' have no counterpart: all of the page counts without"
        " re:.*(?:seen).*",
    )


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text(max_size=40), st.text("abc:{}[]- \n,'\"&*!|>%@`#?", max_size=40))
def test_any_text_is_read_or_refused(value, filters):
    for data in (value, f"url: http://a.example/\nfilter: {filters}"):
        read_or_refused(read_urlwatch, data.encode())
