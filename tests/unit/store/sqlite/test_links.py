"""Links come out of their packed row as they went in."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.store.sqlite.links import NO_LINKS, pack_links, unpack_links
from pollwise.types import Links

TEXT = st.text(st.characters(), max_size=20)


def assert_equal(links: Links, expected: Links) -> None:
    assert links.targets.dtype == np.int64
    np.testing.assert_array_equal(links.targets, expected.targets)
    assert list(links.anchors) == list(expected.anchors)
    assert list(links.places) == list(expected.places)
    assert list(links.around) == list(expected.around)


@given(
    st.lists(st.tuples(st.integers(0, 2**31 - 1), TEXT, TEXT, TEXT), max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_links_come_out_as_they_went_in(
    rows: list[tuple[int, str, str, str]], placed: bool, told: bool
) -> None:
    targets = np.array([row[0] for row in rows], np.int64)
    places = [row[2] for row in rows] if placed else ()
    around = [row[3] for row in rows] if told else ()
    links = Links(targets, [row[1] for row in rows], places, around)
    assert_equal(unpack_links(pack_links(links)), links)


def test_links_that_were_packed_without_the_texts_around_them() -> None:
    plain = np.array([2, 3, 4], "<i4").tobytes() + b'[["next","up"],["body/a","body/a"]]'
    expected = Links(np.array([3, 7]), ("next", "up"), ("body/a", "body/a"))
    assert_equal(unpack_links(zlib.compress(plain)), expected)


def test_links_without_texts_around_them_take_no_room_for_these() -> None:
    bare = Links(np.arange(3), ("a", "b", "c"), ("body/a",) * 3)
    assert zlib.decompress(pack_links(bare)).endswith(b'["body/a","body/a","body/a"]]')


def test_a_page_without_links() -> None:
    assert_equal(unpack_links(pack_links(NO_LINKS)), NO_LINKS)


@pytest.mark.parametrize("data", [b"", b"rubbish", pack_links(NO_LINKS)[:-3]])
def test_damage_is_told(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        unpack_links(data)
