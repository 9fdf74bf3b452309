"""What the metadata of a URL that was fetched tell: whether it was, and whether it has changed.

Crawlers name the same things differently: `signature` or `digest`, `fetch.statusCode` or
`http_status`. What stands before the last dot, case, dashes and underscores do not matter.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pollwise.types import Outcome
from pollwise.web.headers import parse_http_date

__all__ = ["NOTHING", "Fingerprint", "Report", "Values", "report_of"]

_SIGNATURES = ("signature", "digest", "contentdigest", "payloaddigest", "contenthash", "md5")
_STATUSES = ("statuscode", "httpstatus", "httpstatuscode", "status")
_LONGEST = 256
"""Characters of a value that is compared; what is longer is cut."""


class Values(Protocol):
    """The values of one key."""

    @property
    def values(self) -> Sequence[str]:
        """All of them, the first of which counts."""


class Fingerprint(NamedTuple):
    """What the next report of a URL is compared with; empty: not told."""

    signature: str = ""
    etag: str = ""
    last_modified: str = ""


NOTHING = Fingerprint()


class Report(NamedTuple):
    """What one report tells.

    `outcome`: None if nothing says whether it has changed. `last_changed_at`: UTC seconds; None:
    not told.
    """

    outcome: Outcome | None
    fingerprint: Fingerprint
    last_changed_at: float | None


def report_of(metadata: Mapping[str, Values], before: Fingerprint, now: float) -> Report:
    """What the metadata tell of a URL that was fetched, whose latest copy was `before`.

    Of signature, ETag and Last-Modified the first that both have decides. A status of 304 means
    unchanged, 404 and 410 gone, any other below 200 or from 400 on failed.
    """
    told: dict[str, str] = {}
    for key, several in metadata.items():
        if several.values:
            plain = key.rpartition(".")[2].lower().replace("-", "").replace("_", "")
            told.setdefault(plain, several.values[0].strip()[:_LONGEST])
    status = _status(told)
    if status in (404, 410):
        return Report(Outcome.GONE, before, None)
    if status is not None and status != 304 and not 200 <= status < 400:
        return Report(Outcome.FAILED, before, None)
    seen = Fingerprint(
        next((told[name] for name in _SIGNATURES if told.get(name)), ""),
        told.get("etag", ""),
        told.get("lastmodified", ""),
    )
    date = parse_http_date(seen.last_modified) if seen.last_modified else None
    if date is not None and not 0.0 < date <= now:
        date = None
    if status == 304:
        kept = Fingerprint(*(new or old for new, old in zip(seen, before, strict=True)))
        return Report(Outcome.UNCHANGED, kept, date)
    return Report(_compared(seen, before), seen, date)


def _compared(seen: Fingerprint, before: Fingerprint) -> Outcome | None:
    for new, old in zip(seen, before, strict=True):
        if new and old:
            return Outcome.UNCHANGED if new == old else Outcome.CHANGED
    return None


def _status(told: Mapping[str, str]) -> int | None:
    """The HTTP status; None: none is told that can be read."""
    for name in _STATUSES:
        text = told.get(name, "")
        if len(text) == 3 and text.isascii() and text.isdecimal():
            return int(text)
    return None
