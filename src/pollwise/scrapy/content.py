"""What counts in a response: two with the same hash are the same page, unchanged."""

import xxhash
from scrapy import Spider
from scrapy.http import Response

from pollwise.errors import InputError
from pollwise.sources.reading import read, read_plainly
from pollwise.sources.recognition import recognised
from pollwise.sources.view import UnreadableError, View
from pollwise.web.change import fingerprint

__all__ = ["content_hash"]


def content_hash(response: Response, spider: Spider) -> str:
    """The hash of what the spider's method `pollwise_content` gives for the response.

    Without such a method it is that of what `pollwise watch` compares: the visible text of HTML,
    the items of a feed or a sitemap, each byte of anything else. `InputError` if the method gives
    neither text nor bytes.
    """
    own = getattr(spider, "pollwise_content", None)
    if own is None:
        return fingerprint(_seen(response)).text_hash
    content = own(response)
    if not isinstance(content, str | bytes):
        raise InputError(
            f"pollwise_content of {response.url}: {type(content).__name__} is neither text nor"
            " bytes: return one of them"
        )
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return xxhash.xxh3_128_hexdigest(data)


def _seen(response: Response) -> View:
    told = response.headers.get("Content-Type")
    content_type = None if told is None else told.decode("latin-1")
    if recognised(response.body, content_type) in ("feed", "sitemap"):
        try:
            return read(response.body, content_type)
        except UnreadableError:
            pass
    return read_plainly(response.body, content_type)
