"""The links of a page as one packed row: about 12 bytes a link on pages of documentation.

In zlib: the number of links (4 bytes, little-endian), the targets as differences (4 bytes each),
then anchors, places and, where there are any, the texts around the links as a JSON text.
"""

import json
import zlib

import numpy as np

from pollwise.store.tables.bodies import LEVEL
from pollwise.types import Links

__all__ = ["NO_LINKS", "pack_links", "unpack_links"]

_INTEGER = np.dtype("<i4")

NO_LINKS = Links(np.empty(0, np.int64), ())


def pack_links(links: Links) -> bytes:
    """The links as bytes for `unpack_links`."""
    count = np.array(len(links.targets), _INTEGER).tobytes()
    targets = np.diff(links.targets, prepend=0).astype(_INTEGER).tobytes()
    texts = [list(links.anchors), list(links.places)]
    if links.around:
        texts.append(list(links.around))
    told = json.dumps(texts, separators=(",", ":")).encode()
    return zlib.compress(count + targets + told, LEVEL)


def unpack_links(data: bytes) -> Links:
    """What `pack_links` packed; `ValueError` if it is damaged."""
    try:
        plain = zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    size = _INTEGER.itemsize
    count = int(np.frombuffer(plain, _INTEGER, 1)[0])
    differences = np.frombuffer(plain, _INTEGER, count, size)
    anchors, places, *around = map(tuple, json.loads(plain[size * (1 + count) :]))
    return Links(np.cumsum(differences, dtype=np.int64), anchors, places, *around)
