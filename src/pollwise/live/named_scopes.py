"""The hosts of the pages that are watched now: what may be asked of them, kept up to date."""

from collections import Counter
from collections.abc import Callable, Container, Iterable

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
        self.given: Container[str] = _Scopes(lambda s: s in self._plain or s in self._secure)
        self.plain: Container[str] = _Scopes(lambda s: s in self._plain)
        self.several_origins: Container[str] = _Scopes(
            lambda s: s in self._plain and s in self._secure
        )

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


class _Scopes:
    """A collection by what says whether a scope is in it."""

    def __init__(self, has: Callable[[str], bool]) -> None:
        self._has = has

    def __contains__(self, scope: object) -> bool:
        return isinstance(scope, str) and self._has(scope)
