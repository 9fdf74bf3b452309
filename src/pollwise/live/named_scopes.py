"""The hosts of the pages that are watched now: what may be asked of them, kept up to date."""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass

from pollwise.types import Page

__all__ = ["NamedScopes"]


class NamedScopes:
    """The politeness scopes of pages that a user named, as three collections that follow.

    `given` has all of them, `plain` those with an http page, `several_origins` those with
    pages of both http and https. They begin with the numbers of http (`plain`) and https (`secure`)
    pages by scope.

    >>> scopes = NamedScopes(plain=Counter({"a.example": 1}), secure=Counter())
    >>> "a.example" in scopes.given, "a.example" in scopes.plain
    (True, True)
    >>> "a.example" in scopes.several_origins
    False
    >>> scopes.add([Page(1, "https://a.example/", "a.example")])
    >>> scopes.remove([Page(0, "http://a.example/", "a.example")])
    >>> "a.example" in scopes.given, "a.example" in scopes.plain
    (True, False)
    """

    def __init__(self, *, plain: Counter[str], secure: Counter[str]) -> None:
        self._plain = plain
        self._secure = secure
        self.given: Container[str] = _InEither(plain, secure)
        self.plain: Container[str] = plain
        self.several_origins: Container[str] = _InBoth(plain, secure)

    def add(self, pages: Iterable[Page]) -> None:
        """These pages are watched, too."""
        for page in pages:
            self._of(page)[page.scope] += 1

    def remove(self, pages: Iterable[Page]) -> None:
        """These pages are watched no longer."""
        for page in pages:
            counted = self._of(page)
            counted[page.scope] -= 1
            if counted[page.scope] <= 0:
                del counted[page.scope]

    def _of(self, page: Page) -> Counter[str]:
        return self._plain if page.url.startswith("http:") else self._secure


@dataclass(frozen=True, slots=True)
class _InEither:
    """What is in one of two collections."""

    one: Container[str]
    other: Container[str]

    def __contains__(self, scope: object) -> bool:
        return scope in self.one or scope in self.other


@dataclass(frozen=True, slots=True)
class _InBoth:
    """What is in both of two collections."""

    one: Container[str]
    other: Container[str]

    def __contains__(self, scope: object) -> bool:
        return scope in self.one and scope in self.other
