"""How a notice reaches its receiver, by a thread that may wait."""

import json
import os
import signal
import smtplib
import subprocess
import tempfile
import time
import urllib.error
from http.client import HTTPException
from pathlib import Path

from pollwise.errors import InputError, PollwiseError
from pollwise.export.draft import draft
from pollwise.insight.documents import document
from pollwise.notify.atom import atom_feed
from pollwise.notify.mailing import mail, read_mailbox
from pollwise.notify.notice import Notice
from pollwise.notify.posting import post
from pollwise.notify.receivers import Channel, Receiver, program_words
from pollwise.notify.signing import signature, signing_key
from pollwise.texts import no_tls, printable
from pollwise.version import __version__
from pollwise.web.headers import parse_retry_after
from pollwise.web.stops import OVERLOADED

__all__ = ["NotSentError", "send"]

_PATIENCE = 30.0
"""Seconds for each step of an exchange, and for a command."""
_MOST_TEXT = 30_000
"""Characters of the text that a command finds in its environment."""
_TOLD = 300
"""Bytes of what a command complains of."""


class NotSentError(PollwiseError):
    """A notice did not reach its receiver, or may not have; says why, without secrets.

    `retry_after`: the seconds for which the receiver wants to be left alone (None: it does not
    say).
    """

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.retry_after = retry_after


def send(receiver: Receiver, notice: Notice) -> None:
    """Send a notice; when this returns, the receiver has taken it. `NotSentError` if it has not."""
    try:
        _SENDERS[receiver.channel](receiver, notice)
    except NotSentError:
        raise
    except (OSError, HTTPException, smtplib.SMTPException, InputError, ValueError) as error:
        raise NotSentError(_why(error, receiver)) from None


def _post(receiver: Receiver, notice: Notice) -> None:
    body = json.dumps(document(notice)).encode()
    now = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"pollwise/{__version__}",
        "webhook-id": notice.id,
        "webhook-timestamp": str(now),
    }
    if receiver.secret is not None:
        key = signing_key(receiver.secret, "secret")
        headers["webhook-signature"] = signature(key, notice.id, now, body)
    try:
        post(receiver.target, body, headers, _PATIENCE)
    except urllib.error.HTTPError as error:
        error.close()
        redirects = ", a redirect, which is not followed" if 300 <= error.code < 400 else ""
        wait = None
        if error.code in OVERLOADED:
            wait = parse_retry_after(error.headers.get("Retry-After"), time.time())
        raise NotSentError(f"HTTP status {error.code}{redirects}", wait) from None


def _mail(receiver: Receiver, notice: Notice) -> None:
    mail(read_mailbox(receiver.target, receiver.name), notice, _PATIENCE)


def _call(receiver: Receiver, notice: Notice) -> None:
    # In UTF-8, as the encoding of an old locale may lack some of their letters.
    environment = {
        b"POLLWISE_NOTICE": notice.id.encode(),
        b"POLLWISE_TITLE": notice.title.encode(errors="replace"),
        b"POLLWISE_TEXT": notice.text[:_MOST_TEXT].encode(errors="replace"),
    }
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(
            program_words(receiver.target),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env={**os.environb, **environment},
            start_new_session=True,  # Ctrl-C is not for it
        ) as done:
            try:
                done.communicate(json.dumps(document(notice)).encode(), timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(done.pid, signal.SIGKILL)  # with all that it began
                raise NotSentError(f"the command took more than {_PATIENCE:g} s") from None
        if done.returncode:
            complaints.seek(max(complaints.tell() - _TOLD, 0))
            said = printable(complaints.read().decode(errors="replace"))
            raise NotSentError(f"exit status {done.returncode}" + (f": {said}" if said else ""))


def _write_feed(receiver: Receiver, notice: Notice) -> None:
    with draft(Path(receiver.target)) as file:
        file.write(atom_feed(notice.database, notice.changes, notice.made_at))


def _send_by_apprise(receiver: Receiver, notice: Notice) -> None:
    from pollwise.notify.apprise_targets import send_by_apprise

    if failure := send_by_apprise(receiver.target, notice, _PATIENCE):
        raise NotSentError(f"{failure}, as Apprise tells")


_SENDERS = {
    Channel.WEBHOOK: _post,
    Channel.MAIL: _mail,
    Channel.COMMAND: _call,
    Channel.ATOM: _write_feed,
    Channel.APPRISE: _send_by_apprise,
}


def _why(error: Exception, receiver: Receiver) -> str:
    """What went wrong, in words that are known to hold no secret."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, smtplib.SMTPAuthenticationError):
        return "the mail server does not take this user and password"
    if isinstance(reason, smtplib.SMTPResponseException):
        return f"the mail server answered {reason.smtp_code}"
    if isinstance(reason, smtplib.SMTPRecipientsRefused):
        return "the mail server refused an address"
    if isinstance(reason, smtplib.SMTPNotSupportedError):  # in our words, or in those of Python
        return str(reason).rstrip(".")
    if isinstance(reason, TimeoutError):
        return f"no answer within {_PATIENCE:g} s"
    if told := no_tls(reason):
        return told
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    if isinstance(reason, InputError) and receiver.channel is Channel.ATOM:
        return str(reason)
    for kind, words in _IN_WORDS.items():
        if isinstance(reason, kind):
            return f"{words} ({type(reason).__name__})"
    return type(reason).__name__


_IN_WORDS: dict[type[Exception], str] = {
    smtplib.SMTPServerDisconnected: "the mail server ended the connection",
    smtplib.SMTPException: "the mail server did not take it",
    ConnectionError: "the connection was ended without an answer",
    HTTPException: "the answer is not as HTTP has it",
}
"""What may be said of other errors, whose texts may quote what somebody answered."""
