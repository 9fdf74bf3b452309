"""Numbers for names, of which there may come millions without a pause."""

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Numbering"]

Key = TypeVar("Key", bound=Hashable)

_PARTS = 64


class Numbering(Generic[Key]):
    """The numbers of keys, from 0 in the order in which they came.

    In many dictionaries: one alone takes 60 ms to grow beyond a million keys.

    >>> numbers = Numbering()
    >>> numbers.take_up("a"), numbers.take_up("b"), numbers.take_up("a"), numbers.get("c")
    (0, 1, 0, None)
    """

    def __init__(self) -> None:
        self._parts: tuple[dict[Key, int], ...] = tuple({} for _ in range(_PARTS))
        self.keys: list[Key] = []
        """By number; to be read."""

    def __len__(self) -> int:
        return len(self.keys)

    def take_up(self, key: Key) -> int:
        """The number of a key; that of a new one is the next."""
        number = self._parts[hash(key) % _PARTS].setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number

    def get(self, key: Key) -> int | None:
        """The number of a key; None: it was never taken up."""
        return self._parts[hash(key) % _PARTS].get(key)
