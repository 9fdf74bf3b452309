"""What three fetches tell of a page's noise."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.sources.reading import read
from pollwise.types import Mask, MaskState, Noise, PageMemory
from pollwise.web.change import compare, fingerprint
from pollwise.web.noise.blocks import blocks_of
from pollwise.web.noise.masks import covered, mask_blocks
from pollwise.web.noise.search import differences, find_noise

HTML, JSON, XML, TEXT = "text/html", "application/json", "application/rss+xml", "text/plain"
MENU = "<ul><li>Home<li>News<li>About us</ul>"
NEWS = "<h2>Rain is expected</h2><p>It will rain all week, they say.<h2>Team wins</h2><p>At last."


def html(noise: str, news: str = NEWS) -> str:
    return f"<!doctype html><title>t</title>{MENU}{noise}{news}<p>Imprint"


def noise_of(*bodies: str, content_type: str = HTML):
    return find_noise([blocks_of(body.encode(), content_type) for body in bodies])


def text_hash(body: str, masks, content_type: str = HTML) -> str:
    return fingerprint(read(body.encode(), content_type), masks).text_hash


NOISES = {
    "clock": ["<p>Now: 12:03:04", "<p>Now: 12:03:05", "<p>Now: 12:03:06", "<p>Now: 9:59:59"],
    "clock apart": [f"<p>Now: <b>{n:02}</b> o'clock" for n in (9, 10, 11, 12)],
    "date": [f"<p>Sun Nov 22 13:24:1{n} UTC 2026" for n in range(3)]
    + ["<p>Mon May 1 1:02:03 UTC 2027"],
    "counter": [f"<p>You are visitor no. {n:,}" for n in (999, 1000, 1003, 12_345)],
    "token": [f"<p>Session {t}" for t in ("a81f0c2277", "0bcc", "ffa9122e", "99aab0")],
    "quotation": [
        f"<blockquote>{q}</blockquote>" for q in ("To be", "I think", "All is one", "So it goes")
    ],
    "advertisement that comes and goes": [
        "",
        "<div><b>Buy shoes</b><i>now</i></div>",
        "",
        "<div>Buy hats</div>",
    ],
    "two random blocks of different lengths": [
        "<p>a<p>b",
        "<p>c<p>d<p>e",
        "<p>f",
        "<p>g<p>h",
    ],
}


@pytest.mark.parametrize("name", NOISES)
def test_noise_is_masked_and_news_are_not(name):
    *seen, later = NOISES[name]
    masks = noise_of(*map(html, seen))
    assert masks
    assert text_hash(html(seen[0]), masks) == text_hash(html(later), masks)
    for other in (
        html(later, NEWS.replace("rain all", "snow all")),
        html(later, "<h2>Snow is here</h2><p>A third of it fell at night." + NEWS),
        html(later, NEWS.partition("<h2>Team")[0]),
        html(later).replace("About us", "About you"),
        html(later).replace("Imprint", "Imprint and more"),
    ):
        assert text_hash(other, masks) != text_hash(html(later), masks)


DOCUMENTS = {
    "json": (
        JSON,
        '{"generated_at": "2026-11-22T13:24:0%d.123Z", "items": [{"id": 17, "name": "a"}]}',
        '"id": 17',
        '"id": 18',
    ),
    "xml": (
        XML,
        "<report><channel><title>t</title>"
        "<lastBuildDate>Sun, 22 Nov 2026 13:24:0%d GMT</lastBuildDate>"
        "<item><title>One</title><pubDate>Sun, 22 Nov 2026 13:00:00 GMT</pubDate></item>"
        "</channel></report>",
        "13:00:00",
        "14:00:00",
    ),
    "attribute": (XML, '<feed stamp="%d"><entry id="17">one</entry></feed>', "17", "18"),
    "text": (TEXT, "made at 13:24:0%d\n\nbody 17\nend", "body 17", "body 18"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_noise_of_documents(name):
    content_type, text, old, new = DOCUMENTS[name]
    a, b, c, later = (text % n for n in (1, 2, 3, 9))
    masks = noise_of(a, b, c, content_type=content_type)
    assert len(masks) == 1
    hashes = [text_hash(body, masks, content_type) for body in (a, later, later.replace(old, new))]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    "bodies",
    [
        # once only: an article came, or was changed
        [html("<p>news"), html("<p>other"), html("<p>other")],
        [html("<p>1"), html("<p>1"), html("<p>2")],
        # a list that grows at its begin, or moves on
        [html("<p>a"), html("<p>b<p>a"), html("<p>c<p>b<p>a")],
        [html("<p>c<p>b<p>a"), html("<p>d<p>c<p>b"), html("<p>e<p>d<p>c")],
        # a page that is nothing but noise
        ["<p>1", "<p>2", "<p>3"],
        # more than half of the page
        [html("<p>" + word * 100) for word in ("x y ", "z w ", "a b ")],
        # much more noise than anybody could look through
        [
            html("".join(f"<p>{k}: {n}" for k in map(chr, range(97, 123)) for _ in "ab"))
            for n in (1, 2, 3)
        ],
    ],
    ids=["changed", "late", "grows", "moves", "only", "half", "much"],
)
def test_what_is_not_masked(bodies):
    assert noise_of(*bodies) == ()


@pytest.mark.parametrize("noise", ["5 4 3 1 2 9 8 7 6", "to of be at on in by or if"])
def test_the_neighbours_may_change_one_after_the_other(noise):
    first, second, third, *later = noise.split()
    masks = noise_of(*(html(f"<p>Visitors<p>{word}") for word in (first, second, third)))
    memory = PageMemory(noise=Noise(masks=masks))
    memory = compare(memory, read(html(f"<p>Visitors<p>{first}").encode(), HTML)).memory
    other_news = NEWS.replace("Rain is", "Snow is")
    steps = [("Visitors", other_news), ("Guests", other_news), ("Guests", NEWS)]
    for (label, news), one, other in zip(steps, later[::2], later[1::2], strict=True):
        found = compare(memory, read(html(f"<p>{label}<p>{one}", news).encode(), HTML))
        assert found.changed  # the neighbour is news
        found = compare(found.memory, read(html(f"<p>{label}<p>{other}", news).encode(), HTML))
        assert not found.changed
        memory = found.memory


def test_what_comes_between_is_never_covered():
    masks = noise_of(*(html(f"<p>{word}") for word in ("to", "of", "be")))
    memory = PageMemory(noise=Noise(masks=masks))
    memory = compare(memory, read(html("<p>to").encode(), HTML)).memory
    for noise in ("<p>News!<p>to", "<p>to<p>News!"):
        found = compare(memory, read(html(noise).encode(), HTML))
        assert found.changed
        edited = compare(found.memory, read(html(noise.replace("News", "More")).encode(), HTML))
        assert edited.changed


def test_a_mask_that_is_quiet_ends_and_that_is_no_change():
    masks = noise_of(*(html(f"<p>Visitors: {n}") for n in (1, 2, 3)))
    memory = PageMemory(noise=Noise(masks=masks))
    memory = compare(memory, read(html("<p>Visitors: 4").encode(), HTML)).memory
    for n in range(10):
        found = compare(memory, read(html(f"<p id={n}>Visitors: 4").encode(), HTML))
        assert not found.changed
        memory = found.memory
    assert memory.noise.masks == ()
    assert not compare(memory, read(html("<p>Visitors: 4").encode(), HTML)).changed
    assert compare(memory, read(html("<p>Visitors: 5").encode(), HTML)).changed


def test_a_mask_that_was_refused_does_not_come_again():
    bodies = [html(f"<p>Visitors: {n}") for n in (1, 2, 3)]
    [mask] = noise_of(*bodies)
    noise = Noise(masks=(mask,))
    memory = compare(PageMemory(noise=noise), read(bodies[0].encode(), HTML)).memory
    [mask] = memory.noise.masks
    memory = replace(memory, noise=replace(noise, masks=(replace(mask, state=MaskState.ENDING),)))
    found = compare(memory, read(bodies[1].encode(), HTML))
    assert not found.changed
    [mask] = found.memory.noise.masks
    assert mask.state is MaskState.REFUSED
    assert compare(found.memory, read(bodies[2].encode(), HTML)).changed
    assert find_noise([blocks_of(body.encode(), HTML) for body in bodies], [mask]) == ()


def test_it_does_not_either_when_its_neighbours_have_changed():
    first, second, third = (html(f"<p>Visitors: {n}") for n in (1, 2, 3))
    [mask] = noise_of(first, second, third)
    refused = replace(mask, state=MaskState.REFUSED)
    memory = compare(PageMemory(noise=Noise(masks=(refused,))), read(first.encode(), HTML)).memory
    changes = []
    for change in ("About us", "About you"), ("Rain", "Snow"):
        changes.append(change)
        bodies = [first, second, third]
        for old, new in changes:
            bodies = [body.replace(old, new) for body in bodies]
        memory = compare(memory, read(bodies[0].encode(), HTML)).memory
        assert memory.noise.masks[0].state is MaskState.REFUSED
        pages = [blocks_of(body.encode(), HTML) for body in bodies]
        assert find_noise(pages, memory.noise.masks) == ()


@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef")))
def test_differences_tell_one_page_from_the_other(one, other):
    found = differences(one, other)
    made, at = [], 0
    for d in found:
        assert one[d.begin : d.end] != other[d.other_begin : d.other_end]
        made += one[at : d.begin] + other[d.other_begin : d.other_end]
        at = d.end
    assert made + one[at:] == other


blocks = st.lists(st.sampled_from(["a", "b", "1", "2", "x 3", "x 4"]), max_size=12)


@settings(max_examples=50)
@given(blocks, blocks, blocks, blocks)
def test_masks_cover_no_block_twice_and_lose_none_that_they_do_not_cover(one, two, three, page):
    masks = find_noise([one, two, three])
    for body in (one, two, three, page):
        places = covered(body, masks)
        under = list(chain.from_iterable(range(*p) for own in places for p in own))
        assert len(under) == len(set(under))
        text, found = mask_blocks(body, masks)
        assert len(found) == len(masks)
        left = [block for n, block in enumerate(body) if n not in under]
        assert [word for word in text.split() if word not in "x#"] == [
            word for word in " ".join(left).split() if word != "x"
        ]


@pytest.mark.parametrize("piece", ["a", "1", "<a>1", "<", "{", "1,", "x" * 30, "a1b " * 5])
@pytest.mark.parametrize("content_type", [HTML, JSON, XML, TEXT])
def test_pages_made_to_hurt_end(piece, content_type):
    bodies = [(f"{n}\n" + piece * 30_000 + f"\n{n}").encode() for n in (1, 2, 3)]
    masks = find_noise([blocks_of(body, content_type) for body in bodies])
    fingerprint(read(bodies[0], content_type), masks)


SEEN_NEWS = {
    "another price": (
        "Price: 199 EUR, 3 left (at 12:03:0{})",
        "Price: 99 EUR, 3 left (at 12:03:09)",
    ),
    "another date": (
        "Exam on 3 May 2027 (page made 12:03:0{})",
        "Exam on 28 March 2026 (page made 12:03:09)",
    ),
    "a score beside": ("3 2 12:03:0{}", "3 1 12:03:09"),
    "words behind a comma": ("12:03:0{},status=OK", "12:03:09,status=DOWN"),
    "a word behind a stroke": ("12:03:0{}/open", "12:03:09/closed-due-to-fire"),
    "another long word": (
        "Build a0{} at the pneumonoultramicroscopic institute",
        "Build a09 at the donaudampfschifffahrts institute",
    ),
    "words without spaces": ("12時03分0{}秒現在異常はありません", "12時03分09秒現在大地震です"),
    "such words before": ("現在12時03分0{}秒東京は晴れです", "現地12時03分09秒東京は晴れです"),
}


@pytest.mark.parametrize("name", SEEN_NEWS)
def test_only_what_was_seen_to_vary_is_hidden(name):
    text, news = SEEN_NEWS[name]
    first, second, third, later = (html("<p>" + text.format(n)) for n in (1, 2, 3, 8))
    masks = noise_of(first, second, third)
    assert masks
    assert text_hash(later, masks) == text_hash(first, masks)
    assert text_hash(html(f"<p>{news}"), masks) != text_hash(first, masks)


@pytest.mark.parametrize(
    "text",
    [
        "Sun Nov 22 13:24:1{} UTC 2026 > Mon May 1 1:02:03 GMT 2027",
        "Nov 22nd, 2026 12:03:1{} AM > May 1st, 2027 1:02:03 PM",
        "22.11.2026 12:03:1{} > 1.5.2027 1:02:03",
        "5 days, 3 hours, 2 minutes, 1{} seconds > 1 day, 1 hour, 1 minute, 1 second",
        "2d 3h 1{}s > 3d 4h 15s",
        "2026年11月22日12時03分1{}秒 > 2027年5月1日1時02分03秒",
        "550e8400-e29b-41d4-a716-44665544000{} > abcdefab-abcd-abcd-abcd-abcdefabcdef",
        "1,000,00{} visitors > 7 visitors",
    ],
)
def test_a_date_beside_a_clock_varies_with_it(text):
    text, later = text.split(" > ")
    masks = noise_of(*(html("<p>" + text.format(n)) for n in (1, 2, 3)))
    assert text_hash(html("<p>" + text.format(8)), masks) == text_hash(html(f"<p>{later}"), masks)


def test_no_more_than_half_of_a_page_is_masked_as_a_whole():
    """However many parts that is."""
    dice = random.Random(1)
    bodies = [
        html("".join(f"<h3>Box {k}<p>{dice.choices('abcdef', k=20)}" for k in range(9)))
        for _ in range(3)
    ]
    assert noise_of(*bodies) == ()


def seconds(work: Callable[[], object]) -> float:
    begin = process_time()
    work()
    return process_time() - begin


@pytest.mark.parametrize("label", ["label {}", "label"], ids=["many places", "one place"])
@pytest.mark.parametrize("text", ["", "word " * 50])
def test_a_page_full_of_numbers_is_given_up(label, text):
    dice = random.Random(1)
    pages = [
        list(
            chain.from_iterable(
                (label.format(n), f"{text}{dice.randrange(10**9)}") for n in range(5000)
            )
        )
        for _ in range(3)
    ]
    assert seconds(lambda: find_noise(pages)) < 2


@pytest.mark.parametrize("shape", ["", "another"])
@pytest.mark.parametrize("end", ["z", "z" * 40])
def test_masks_made_to_hurt_end(shape, end):
    """Places that are tried again and again, all in vain."""
    room = 2000 if shape else 30
    masks = [Mask(("q", f"b{n % 4}"), (end, "y"), shape, 1, 40, room, "") for n in range(24)]
    blocks = list(chain.from_iterable((f"b{n % 4}", end * (1 + n % 2)) for n in range(50_000)))
    assert seconds(lambda: mask_blocks(blocks, masks)) < 2
