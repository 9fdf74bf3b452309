"""What was learned, packed with a head of plain values."""

import io

import numpy as np

from pollwise.scheduler.packing import pack, unpack


def test_what_was_packed_comes_out():
    learned = {
        "page_ids": np.array([3, 1]),
        "page.rate": np.array([[0.5, np.nan], [1.0, 2.0]], np.float32),
        "head": np.array([True]),
        "shared": np.zeros((0, 4)),
    }
    head, arrays = unpack(pack({"pages": [[0, "é", None]]}, learned))
    assert head == {"pages": [[0, "é", None]]}
    assert arrays.keys() == learned.keys()
    for name, array in learned.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_it_is_a_file_of_numpy_without_objects():
    with np.load(io.BytesIO(pack([1], {"a": np.ones(2)})), allow_pickle=False) as arrays:
        assert arrays["head"].tobytes() == b"[1]"


def test_what_earlier_versions_packed_comes_out():
    file = io.BytesIO()
    np.savez_compressed(file, head=np.array('[0, "é"]'), **{"=a": np.ones(2)})
    head, arrays = unpack(file.getvalue())
    assert head == [0, "é"]
    np.testing.assert_array_equal(arrays["a"], np.ones(2))
