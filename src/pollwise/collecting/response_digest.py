"""What a worker of the response processor makes of a response: everything that takes time.

The fetch loop gets a digest and only looks things up.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import Any

from pollwise.collecting.duplicates import simhash
from pollwise.collecting.response_processor import Response
from pollwise.errors import InputError
from pollwise.relevance.parsed_text import ParsedText, parse_text
from pollwise.relevance.topic import load_judge
from pollwise.web.crawl_urls import crawl_url
from pollwise.web.reading.page_parser import Link, parse_page

__all__ = ["Digest", "digest"]

_judge = lru_cache(load_judge)


@dataclass(frozen=True, slots=True, eq=False)
class Digest:
    """A page as a collection needs it.

    `text` are its blocks, a line each; `terms` the same for the topic filter. `simhash` is that of
    `pollwise.collecting.duplicates`. `links`, `noindex` and `nofollow` are those of `ParsedPage`,
    `canonical` too, but in the spelling of `crawl_url`.
    """

    title: str
    text: str
    terms: ParsedText
    simhash: int | None
    links: tuple[Link, ...]
    noindex: bool
    nofollow: bool
    canonical: str | None

    def __reduce__(self) -> tuple[object, ...]:
        # The links by columns, which are pickled and read in a fifth of the time.
        columns = tuple(zip(*self.links, strict=True))
        rest = (self.noindex, self.nofollow, self.canonical)
        return _restored, (self.title, self.text, self.terms, self.simhash, columns, *rest)


def _restored(
    title: str,
    text: str,
    terms: ParsedText,
    simhash: int | None,
    columns: tuple[tuple[Any, ...], ...],
    *rest: Any,
) -> Digest:
    links = tuple(starmap(Link, zip(*columns, strict=True)))
    return Digest(title, text, terms, simhash, links, *rest)


def digest(response: Response, judge: str | None = None) -> Digest:
    """Read a response; `judge` is that of `Topic` (`MODULE:FUNCTION`), whose errors are raised."""
    page = parse_page(response.body, response.content_type, response.url, response.x_robots_tag)
    text = "\n".join(page.blocks)
    judgement = None if judge is None else _judge(judge)(f"{page.title}\n{text}")
    blocks = [page.title, *page.blocks] if page.title else page.blocks
    terms = parse_text(blocks, judgement)
    counts = dict(zip(terms.terms, terms.term_counts().astype(int).tolist(), strict=True))
    return Digest(
        title=page.title,
        text=text,
        terms=terms,
        simhash=simhash(counts),
        links=page.links,
        noindex=page.noindex,
        nofollow=page.nofollow,
        canonical=_spelled(page.canonical),
    )


def _spelled(url: str | None) -> str | None:
    """A canonical URL as the frontier spells it; None if it cannot be fetched."""
    try:
        return None if url is None else crawl_url(url)
    except InputError:
        return None
