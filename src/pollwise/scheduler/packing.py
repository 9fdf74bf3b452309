"""What a policy learned, with a head of plain values, packed into bytes and out of them again."""

import io
import json
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from numpy.lib.format import write_array

from pollwise.types import StateDict

__all__ = ["pack", "unpack"]

_HEAD = "head"
_LEARNED = "="
"""Before the names of learned arrays, to tell them from the head."""


def pack(head: object, learned: StateDict) -> bytes:
    """A file of numpy (npz); `head` is anything that JSON can write.

    >>> unpack(pack({"pages": 2}, {"page_ids": np.array([0, 1])}))
    ({'pages': 2}, {'page_ids': array([0, 1])})
    """
    arrays: dict[str, Any] = {f"{_LEARNED}{name}": array for name, array in learned.items()}
    # As bytes: a text of numpy has four for each character, and that of a million pages is long.
    arrays[_HEAD] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    file = io.BytesIO()
    # As `np.savez_compressed`, but quickly, which leaves it only a fiftieth larger.
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_array(member, np.asanyarray(array), allow_pickle=False)
    return file.getvalue()


def unpack(data: bytes) -> tuple[Any, StateDict]:
    """What `pack` packed; errors of many kinds for anything else."""
    with np.load(io.BytesIO(data)) as arrays:
        packed = arrays[_HEAD]
        # Earlier versions packed a text.
        head = json.loads(str(packed) if packed.dtype.kind == "U" else packed.tobytes())
        named = [name for name in arrays.files if name.startswith(_LEARNED)]
        return head, {name.removeprefix(_LEARNED): arrays[name] for name in named}
