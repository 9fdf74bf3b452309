"""Links come out of their packed row as they went in."""

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


@given(
    st.lists(st.tuples(st.integers(0, 2**31 - 1), TEXT, TEXT), max_size=20),
    st.booleans(),
)
def test_links_come_out_as_they_went_in(rows: list[tuple[int, str, str]], placed: bool) -> None:
    targets = np.array([target for target, _, _ in rows], np.int64)
    places = [place for _, _, place in rows] if placed else ()
    links = Links(targets, [anchor for _, anchor, _ in rows], places)
    assert_equal(unpack_links(pack_links(links)), links)


def test_a_page_without_links() -> None:
    assert_equal(unpack_links(pack_links(NO_LINKS)), NO_LINKS)


@pytest.mark.parametrize("data", [b"", b"rubbish", pack_links(NO_LINKS)[:-3]])
def test_damage_is_told(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        unpack_links(data)
