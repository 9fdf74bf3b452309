"""What a request is a poll of, and for how long.

A request that is redirected or tried again is another object, made from the one before with a copy
of its `meta`. There lies the `Poll`, one object for all of them, until its outcome is known. So one
that a spider copied with the `meta` of a response is known for what it is: over.
"""

from dataclasses import dataclass

from scrapy.http import Request

from pollwise.errors import InputError
from pollwise.web.urls import canonical

__all__ = ["Poll", "page_of", "poll_of"]

_KEY = "pollwise_poll"


@dataclass(slots=True)
class Poll:
    """A poll of the page with this canonical URL; None: the request is of no page.

    `whole`: the spider gets the page, changed or not. `conditional`: validators were put on the
    latest request.
    """

    page: str | None
    whole: bool = False
    under_way: bool = True
    conditional: bool = False

    def attach(self, request: Request) -> None:
        """Make a request one of this poll."""
        request.meta[_KEY] = self

    @staticmethod
    def detach(request: Request) -> None:
        """Make a request one of no poll."""
        request.meta.pop(_KEY, None)

    @classmethod
    def latest_of(cls, request: Request) -> "Poll | None":
        """The poll that a request is or was of."""
        poll = request.meta.get(_KEY)
        return poll if isinstance(poll, cls) else None


def poll_of(request: Request) -> Poll | None:
    """The poll under way that a request is of; None: there is none, or it is over."""
    poll = Poll.latest_of(request)
    return poll if poll is not None and poll.under_way else None


def page_of(request: Request) -> str | None:
    """The canonical URL of the page that a request asks for; None: it is no plain GET of one."""
    if request.method != "GET" or request.body:
        return None
    try:
        return canonical(request.url)
    except InputError:  # such as data:, ftp:, or a password in the URL
        return None
