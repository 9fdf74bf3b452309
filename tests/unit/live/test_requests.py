"""Requests as values and in JSON."""

import pytest

from pollwise.errors import InputError
from pollwise.live.requests import (
    AddPages,
    ChangeBudget,
    ChangePages,
    RemovePages,
    decode_request,
    described,
    encode_request,
)
from pollwise.store.records import NewPage

PAGE = NewPage(
    "http://a.example/", "a.example", 2.0, 0.5, 60.0, 0.0, True, ("x", "y"), ("main",), (), ""
)


@pytest.mark.parametrize(
    "request_",
    [
        AddPages((PAGE, NewPage("http://b.example/", "b.example"))),
        ChangePages((PAGE,)),
        RemovePages(("http://a.example/",)),
        ChangeBudget("5/hour"),
    ],
    ids=lambda request: type(request).__name__,
)
def test_a_request_comes_back_from_its_text(request_):
    assert decode_request(encode_request(request_)) == request_


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '["fly", 1]',
        '["add", [{"uri": 1}]]',
        '["add", 5]',
        '["add", [[]]]',
        '["add", []]',
        '["remove", []]',
        '["remove", "ab"]',
        r'["remove", ["http://a.example/\udcff"]]',
        '["budget", 5]',
        *(
            '["change", [{"url": "http://a.example/", ' + field + "}]]"
            for field in (
                '"weight": -1',
                '"cost": NaN',
                f'"cost": 1{"0" * 400}',
                '"weight": {}',
                '"shortest_interval": NaN',
                '"paused": 1',
                '"tags": "x"',
                r'"tags": ["x\udcff"]',
                r'"select": ["a\nb"]',
            )
        ),
    ],
)
def test_what_is_no_request_is_refused(text):
    with pytest.raises(InputError, match="does not know this request"):
        decode_request(text)


def test_what_was_done_is_said_in_a_line():
    paused = NewPage("http://a.example/", "a.example", paused=True)
    assert described(ChangePages((paused,))) == "paused: http://a.example/"
    assert described(AddPages((PAGE, PAGE))) == "2 pages added: http://a.example/ and 1 more"
    assert described(ChangeBudget("5/hour")) == "the budget is 5/hour from now on"
