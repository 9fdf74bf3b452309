"""Notices by Apprise, which reaches a hundred services (extra `notify`)."""

import logging
import re

import apprise

from pollwise.notify.notice import Notice

__all__ = ["is_usable", "send_by_apprise"]

# It logs URLs, which hold secrets, and without a handler that ends on stderr.
_logger = logging.getLogger("apprise")
_logger.addHandler(logging.NullHandler())
_logger.propagate = False

# Of what it logs, only what can hold no secret is told.
_STATUS = re.compile(r"\berror=(\d{3})\b")


def is_usable(target: str) -> bool:
    """Whether Apprise understands this URL."""
    return bool(apprise.Apprise().add(target))


def send_by_apprise(target: str, notice: Notice, timeout: float) -> str | None:
    """Send a notice within so many seconds; in words what went wrong, None: nothing."""
    receivers = apprise.Apprise()
    receivers.add(target)
    text = f"{notice.text}\n\nnotice {notice.id.removeprefix('urn:uuid:')}"
    result = receivers.notify(body=text, title=notice.title, timeout=timeout)
    if result:
        return None
    if result.status == apprise.AppriseResultStatus.TIMEOUT:
        return f"no answer within {timeout:g} s"
    told = "\n".join(entry.message for one in result.results for entry in one.logs())
    if found := _STATUS.search(told):
        return f"the service answered with the status {found[1]}"
    if "connection error" in told.lower():
        return "the service cannot be reached"
    return "the service did not take it"
