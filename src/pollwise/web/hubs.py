"""Requests to hubs (WebSub, W3C Recommendation of 2018), under the same guards as all fetches."""

from collections.abc import Mapping
from functools import partial

from pollwise.errors import InputError
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.urls import scope_of

__all__ = ["Hubs"]

_MAX_REDIRECTS = 3
_REDIRECTS = (307, 308)


class Hubs:
    """Asks hubs for subscriptions, each when it is the turn of its host."""

    def __init__(self, exchanges: HttpFetcher, fetcher: PoliteFetcher) -> None:
        self._exchanges = exchanges
        self._fetcher = fetcher

    async def ask(self, hub: str, form: Mapping[str, str], *, named_by: str) -> str | None:
        """Post a form to a hub that the page `named_by` names; why not in words, None: it took it.

        A hub may redirect to another one. Its address must be public, unless it is on the host of
        the page itself. `PostponedError` if the request could not be made.
        """
        target = hub
        for _ in range(1 + _MAX_REDIRECTS):
            try:
                is_own = scope_of(target) == scope_of(named_by)
            except InputError as error:
                return str(error)
            post = partial(self._exchanges.post, target, form, may_be_private=is_own)
            result = await self._fetcher.in_turn(target, post)
            if result.redirected_to is None or result.status not in _REDIRECTS:
                break
            target = result.redirected_to
        if result.error is not None:
            return result.error
        is_accepted = result.status is not None and 200 <= result.status < 300
        return None if is_accepted else f"status {result.status}"
