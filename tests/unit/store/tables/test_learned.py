"""Learned state comes back bit for bit, in whichever batches it was packed."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pollwise.errors import StateError
from pollwise.store.tables.learned import (
    _joined,
    _with_checksum,
    pack_rows,
    pack_shared,
    unpack_rows,
    unpack_shared,
)
from pollwise.types import StateDict

dtypes = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes()
    | hnp.unsigned_integer_dtypes()
    | hnp.floating_dtypes()
    | hnp.complex_number_dtypes()
    | hnp.datetime64_dtypes()
    | hnp.timedelta64_dtypes()
    | hnp.byte_string_dtypes(min_len=1, max_len=5)
    | hnp.unicode_string_dtypes(min_len=1, max_len=5)
)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
shapes = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)


@st.composite
def page_states(draw: st.DrawFn) -> StateDict:
    page_ids = draw(st.lists(st.integers(0, 2**40), unique=True, max_size=5).map(sorted))
    state: StateDict = {"page_ids": np.array(page_ids, dtype=np.int64)}
    for name in draw(st.lists(names, unique=True, max_size=4)):
        shape = (len(page_ids), *draw(shapes))
        state[f"page.{name}"] = draw(hnp.arrays(draw(dtypes), shape))
    return state


@st.composite
def shared_states(draw: st.DrawFn) -> StateDict:
    arrays = hnp.arrays(dtypes, shapes)
    return draw(st.dictionaries(names.map(lambda name: f"all {name}"), arrays, max_size=4))


def assert_same(one: StateDict, other: StateDict) -> None:
    """Equal to the bit, so that NaN equals NaN."""
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert (array.dtype, array.shape) == (other[name].dtype, other[name].shape)
        assert array.tobytes() == other[name].tobytes()


@given(page_states())
def test_rows_come_back(state: StateDict) -> None:
    layout, rows = pack_rows(state)
    assert_same(unpack_rows(layout, rows), state)


@given(page_states(), st.data())
def test_rows_packed_in_several_batches_join(state: StateDict, data: st.DataObject) -> None:
    whole, cut = pack_rows(state), data.draw(st.integers(0, len(state["page_ids"])))
    parts = [
        pack_rows({name: array[part] for name, array in state.items()})
        for part in (slice(None, cut), slice(cut, None))
    ]
    assert parts[0][0] == parts[1][0] == whole[0]
    assert parts[0][1] + parts[1][1] == whole[1]


@given(shared_states())
def test_shared_arrays_come_back(state: StateDict) -> None:
    assert_same(unpack_shared(pack_shared(state)), state)


def test_what_comes_back_may_be_changed() -> None:
    state: StateDict = {"page_ids": np.arange(2), "page.a": np.zeros(2), "all": np.zeros(2)}
    layout, rows = pack_rows(state)
    unpacked = unpack_rows(layout, rows) | unpack_shared(pack_shared(state))
    assert all(array.flags.writeable for array in unpacked.values())


def test_a_row_holds_its_columns_without_padding_in_the_order_of_their_names() -> None:
    layout, rows = pack_rows(
        {
            "page_ids": np.array([7]),
            "page.b": np.array([[1.0, 2.0]], dtype="<f8"),
            "page.a": np.array([3], dtype="u1"),
        }
    )
    assert layout == '[["page.a","|u1",[]],["page.b","<f8",[2]]]'
    assert rows == [(7, b"\x03" + np.array([1.0, 2.0], dtype="<f8").tobytes())]


def test_pages_and_what_they_share_are_told_apart() -> None:
    state: StateDict = {"page_ids": np.arange(1), "page.a": np.zeros(1), "pages": np.zeros(3)}
    assert [name for name, *_ in pack_shared(state)] == ["pages"]
    assert [name for name, *_ in json.loads(pack_rows(state)[0])] == ["page.a"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"page_ids": np.zeros(2)}, "page_ids is an array of float64 with 1 dim"),
        ({"page_ids": np.zeros((2, 1), int)}, "with 2 dimensions; expected a flat array"),
        ({"page_ids": np.arange(2), "page.a": np.zeros(3)}, r"'page.a' has the shape \(3,\)"),
        ({"page_ids": np.arange(2), "page.a": np.zeros(())}, r"'page.a' has the shape \(\)"),
        ({"page.a": np.zeros(3)}, "one row for each of 0 pages"),
        ({"page_ids": np.arange(1), "page.a": np.array([{}])}, "'page.a' holds object"),
        ({"page_ids": np.arange(1), "page.a": np.zeros(1, "i4,f8")}, "expected numbers"),
    ],
)
def test_rows_that_do_not_fit_are_refused(state: StateDict, message: str) -> None:
    with pytest.raises(StateError, match=message):
        pack_rows(state)


def test_a_shared_array_of_objects_is_refused() -> None:
    with pytest.raises(StateError, match="'all' holds object"):
        pack_shared({"all": np.array([None])})


def test_damaged_bytes_are_refused() -> None:
    layout, [(page_id, row)] = pack_rows({"page_ids": np.arange(1), "page.a": np.zeros(1)})
    with pytest.raises(StateError, match="has not the 8 bytes of its columns"):
        unpack_rows(layout, [(page_id, row[:-1])])
    [(name, dtype, shape, data)] = pack_shared({"all": np.zeros((2, 2))})
    with pytest.raises(StateError, match=r"'all' has 31 bytes, not those of float64 \(2, 2\)"):
        unpack_shared([(name, dtype, shape, data[1:])])


@given(st.data(), st.integers(0, 40), st.integers(1, 20))
def test_one_checksum_of_many_rows_shows_what_that_of_each_would(
    data: st.DataObject, size: int, count: int
) -> None:
    plain = data.draw(st.lists(st.binary(min_size=size, max_size=size), min_size=count))
    rows = [(number, 1, _with_checksum(row)) for number, row in enumerate(plain)]
    part = _joined({1: "crc32 []"}, *zip(*rows, strict=True))
    assert part.page_ids.tolist() == [*range(len(plain))]
    stride = size + part.between
    assert [part.data[n * stride :][:size] for n in range(len(plain))] == plain
    number, place = (data.draw(st.integers(0, most - 1)) for most in (len(rows), size + 4))
    wrong = bytearray(rows[number][2])
    wrong[place] ^= data.draw(st.integers(1, 255))
    rows[number] = number, 1, bytes(wrong)
    with pytest.raises(ValueError, match="do not fit their checksum"):
        _joined({1: "crc32 []"}, *zip(*rows, strict=True))


def test_rows_without_checksums_join_those_that_have_them() -> None:
    part = _joined({1: "[]", 2: "crc32 []"}, (0, 7), (1, 2), (b"ab", _with_checksum(b"cd")))
    assert (part.data, part.sizes, part.between) == (b"abcd", {2}, 0)
    with pytest.raises(ValueError, match="do not fit their checksum"):
        _joined({2: "crc32 []"}, (0,), (2,), (b"abc",))
