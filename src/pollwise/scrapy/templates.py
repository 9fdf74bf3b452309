"""Requests as they are kept, to be made again for each poll of their page.

Like the queues on the disk of Scrapy itself they are pickled, as the values in `meta` and
`cb_kwargs` may be anything: no file of strangers may be read.
"""

import pickle
from typing import Any

from scrapy import Spider
from scrapy.http import Request
from scrapy.utils.request import request_from_dict

__all__ = ["pack", "unpack"]

_UNSET = Request("about:blank").to_dict()


def pack(request: Request, spider: Spider) -> bytes | None:
    """What is kept of a request; None: it cannot be, as its callback is no method of the spider,
    or as something in it cannot be pickled.
    """
    try:
        said = request.to_dict(spider=spider).items()
        return pickle.dumps({k: v for k, v in said if k not in _UNSET or v != _UNSET[k]}, 4)
    # What pickle raises depends on the values, which are the user's.
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError):
        return None


def unpack(template: bytes, spider: Spider) -> Request:
    """A new request like the one that was packed.

    `ValueError` if the spider lacks its callback; errors of many kinds if the classes of its values
    are not here any more.
    """
    said: dict[str, Any] = pickle.loads(template)
    return request_from_dict(said, spider=spider)
