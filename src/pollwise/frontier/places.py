"""Where a URL belongs: its crawl and its queue, and which cannot be taken."""

from typing import NamedTuple

__all__ = ["DEFAULT_CRAWL", "Place", "crawl_of", "host_of", "place_of", "shown_name"]

DEFAULT_CRAWL = "DEFAULT"
_LONGEST_URL = 8192
_LONGEST_NAME = 255
"""Characters of the key of a queue, and of the id of a crawl."""


class Place(NamedTuple):
    """A queue within a crawl."""

    crawl: str
    key: str


def crawl_of(told: str) -> str:
    """The id of a crawl; an empty one stands for the default.

    >>> crawl_of(""), crawl_of("news")
    ('DEFAULT', 'news')
    """
    return told or DEFAULT_CRAWL


def host_of(url: str) -> str:
    """The host name within a URL, which need not be one that can be fetched; empty: there is none.

    >>> host_of("http://Example.org:8080/a?b"), host_of("https://[::1]:80/"), host_of("/a")
    ('example.org', '[::1]', '')
    >>> host_of("http://example.org?language=9"), host_of("http://user:secret@example.org/")
    ('example.org', 'example.org')
    """
    host = url.partition("://")[2] or url
    for end in "/?#&":
        host = host.partition(end)[0]
    host = host.rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def place_of(url: str, key: str, crawl: str) -> Place | None:
    """The queue of a URL; None: one of them is missing or too long.

    >>> place_of("http://example.org/", "", "")
    Place(crawl='DEFAULT', key='example.org')
    """
    if not url or len(url) > _LONGEST_URL:
        return None
    key = key or host_of(url)
    if not key or len(key) > _LONGEST_NAME or len(crawl) > _LONGEST_NAME:
        return None
    return Place(crawl_of(crawl), key)


def shown_name(name: str) -> str:
    """A name that a client gave, as one word of a line of the log.

    >>> shown_name("example.org"), shown_name("two\\nlines")
    ('example.org', "'two\\\\nlines'")
    """
    return name if name.isprintable() and name and " " not in name else repr(name)
