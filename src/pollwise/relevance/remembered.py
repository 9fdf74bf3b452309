"""What is made of words, remembered for the next text that has them."""

from collections.abc import Callable
from typing import TypeVar

__all__ = ["Remembered"]

V = TypeVar("V")

_LONGEST = 64
"""Characters. Longer words are seldom met again, and one may be as long as its page."""


class Remembered(dict[str, V]):
    """What `make` gave for words: `remembered[word]` makes it where it is not known yet.

    Holds `most` words; all are forgotten when there is another. Unlike a cached function,
    `map(remembered.__getitem__, words)` runs no Python code for words that are known.
    """

    def __init__(self, make: Callable[[str], V], most: int) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, word: str) -> V:
        made = self._make(word)
        if len(word) <= _LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[word] = made
        return made
