"""`Collected.terms`: what the store keeps of a page's text, to compare and score it again."""

__all__ = ["packed_terms", "unpacked_terms"]


def packed_terms(simhash: int | None, terms: bytes) -> bytes:
    """The SimHash (one byte that says whether there is one, then eight) and the packed terms."""
    return bytes([simhash is not None]) + (simhash or 0).to_bytes(8, "little") + terms


def unpacked_terms(packed: bytes) -> tuple[int | None, bytes]:
    """The SimHash (None: there is none) and the packed terms.

    >>> unpacked_terms(packed_terms(7, b"terms"))
    (7, b'terms')
    """
    return int.from_bytes(packed[1:9], "little") if packed[0] else None, packed[9:]
