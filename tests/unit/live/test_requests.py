"""Requests as values and in JSON."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.live.requests import (
    AddPages,
    ChangePages,
    ChangeSettings,
    Effect,
    LeaveHost,
    MarkRead,
    MaskPart,
    RemovePages,
    SignalPages,
    UnmaskPart,
    by_shard,
    decode_answer,
    decode_request,
    described,
    encode_request,
)
from pollwise.store.records import NewPage

PAGE = NewPage(
    "http://a.example/", "a.example", 2.0, 0.5, 60.0, 0.0, True, ("x", "y"), ("main",), (), True, ""
)
CONDITIONED = replace(PAGE, notify_when=("below 20", "has sold out"))


@pytest.mark.parametrize(
    "request_",
    [
        AddPages((PAGE, NewPage("http://b.example/", "b.example"))),
        AddPages((replace(PAGE, source="feed"),)),
        ChangePages((PAGE, CONDITIONED)),
        RemovePages(("http://a.example/",)),
        SignalPages(("http://a.example/", "http://b.example/")),
        ChangeSettings("5/hour"),
        LeaveHost("a.example", 10.0),
        ChangeSettings(shares=("shop=30%", "news=5%")),
        ChangeSettings("5/hour", ()),
        ChangeSettings(keep="30d", quiet=("22:00-06:00",)),
        UnmaskPart("http://a.example/"),
        UnmaskPart("http://a.example/", 2, "It is\n12:03"),
        MaskPart("http://a.example/", "two\nlines"),
        MarkRead((1, 5), 3, False),
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
        '["settings", 5]',
        '["settings", {"budget": 5}]',
        '["settings", {"objective": "freshness"}]',
        '["unmask", ["http://a.example/", -1, null]]',
        '["unmask", ["http://a.example/", true, null]]',
        r'["mask", ["http://a.example/", "\udcff"]]',
        '["read", [["1"], 0, true]]',
        '["read", [[1], 0, 1]]',
        '["leave", "ab"]',
        '["leave", ["a.example", 0]]',
        *(
            '["change", [{"url": "http://a.example/", ' + field + "}]]"
            for field in (
                '"weight": -1',
                '"cost": NaN',
                f'"cost": 1{"0" * 400}',
                '"weight": {}',
                '"shortest_interval": NaN',
                '"paused": 1',
                '"render": "yes"',
                '"source": "nonsense"',
                '"source": ["feed"]',
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
    resumed = NewPage("http://b.example/", "b.example", paused=False)
    a, b = paused.url, resumed.url
    assert described(ChangePages((paused,)), Effect(changed=(a,))) == f"paused: {a}"
    assert described(ChangePages((paused,)), Effect(unchanged=(a,))) == f"paused already: {a}"
    assert described(ChangePages((resumed,)), Effect(unchanged=(b,))) == f"not paused: {b}"
    assert described(AddPages((PAGE, resumed)), Effect((a, b))) == f"2 pages added: {a} and 1 more"
    assert described(AddPages((PAGE, resumed)), Effect(added=(b,), unchanged=(a,))) == (
        f"added: {b}; watched already: {a}"
    )
    assert described(SignalPages((a,)), Effect()) == f"signalled: {a}"
    assert described(ChangeSettings("5/hour"), Effect()) == "the budget is 5/hour from now on"
    shares = ChangeSettings("5/hour", ("shop=30%",))
    told = "the budget is 5/hour, the shares are shop=30% from now on"
    assert described(shares, Effect()) == told
    assert described(ChangeSettings(shares=()), Effect()) == "the shares are none from now on"
    keep = ChangeSettings(keep="30d", quiet=())
    told = "versions that are kept: 30d, quiet hours: none from now on"
    assert described(keep, Effect()) == told
    assert described(MarkRead((1, 2), 7), Effect()) == (
        "2 changes and all changes up to 7 marked as read"
    )
    assert described(MarkRead((1,), read=False), Effect()) == "1 change marked as unread"
    part = Effect(changed=(a,), parts=("Visitor 7",))
    assert described(MaskPart(a, "Visitor 7"), part) == "counts no more: Visitor 7"


@pytest.mark.parametrize("text", ["", "[]", '{"flown": []}', '{"added": "a"}'])
def test_what_is_no_answer_is_refused(text):
    with pytest.raises(InputError, match="answers as another version does"):
        decode_answer(text)


def number_of(scope: str) -> int:
    return int(scope.partition(".")[0])


@given(st.lists(st.integers(0, 4), max_size=9))
def test_each_shard_is_asked_for_its_pages_once_and_in_their_order(hosts: list[int]) -> None:
    pages = tuple(NewPage(f"http://{host}.example/{place}") for place, host in enumerate(hosts))
    urls = tuple(page.url for page in pages)
    for request, told in (
        (AddPages(pages), pages),
        (ChangePages(pages), pages),
        (RemovePages(urls), urls),
        (SignalPages(urls), urls),
    ):
        parts = by_shard(request, 5, number_of)
        for number, part in parts.items():
            assert type(part) is type(request)
            own = [one for one, host in zip(told, hosts, strict=True) if host == number]
            assert [*getattr(part, "pages", ()), *getattr(part, "urls", ())] == own
        assert parts.keys() == set(hosts)


@pytest.mark.parametrize(
    "request_",
    [UnmaskPart("http://3.example/", 1), MaskPart("http://3.example/", "x"), LeaveHost("3.b", 1.0)],
)
def test_one_shard_is_asked_for_what_is_of_one_host(request_) -> None:
    assert by_shard(request_, 5, number_of) == {3: request_}


def test_all_shards_are_asked_for_settings_but_shares() -> None:
    request = ChangeSettings(keep="3")
    assert by_shard(request, 3, number_of) == dict.fromkeys(range(3), request)
    with pytest.raises(InputError, match="tags have no shares of the budget where"):
        by_shard(ChangeSettings(shares=("a=5%",)), 3, number_of)


def test_the_numbers_of_changes_are_of_the_shard_that_is_named() -> None:
    request = MarkRead((1,))
    assert by_shard(request, 3, number_of, 2) == {2: request}
    with pytest.raises(InputError, match="are of one shard: name it after --db"):
        by_shard(request, 3, number_of)
