"""Notices by e-mail: `smtp://[user:password@]host[:port]/?to=ADDRESS[&to=...][&from=ADDRESS]`."""

import smtplib
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from urllib.parse import parse_qs, unquote, urlsplit

from pollwise.errors import InputError
from pollwise.notify.notice import Notice

__all__ = ["Mailbox", "mail", "read_mailbox"]

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_FORM = "smtp://[user:password@]host[:port]/?to=ADDRESS[&from=ADDRESS]"


@dataclass(frozen=True, slots=True)
class Mailbox:
    """Where mail goes, and by which server. `by_tls`: from the start, as for smtps.

    A password is sent only where TLS hides it, or to this machine.
    """

    host: str
    port: int
    by_tls: bool
    user: str | None
    password: str | None = field(repr=False)
    sender: str
    recipients: tuple[str, ...]


def read_mailbox(target: str, where: str) -> Mailbox:
    """Read an SMTP URL; `InputError`, which names the place `where` and no secret."""
    try:
        split = urlsplit(target)
        port, host = split.port, split.hostname
    except ValueError:
        raise InputError(f"{where}: the e-mail URL is not as expected: {_FORM}") from None
    told = parse_qs(split.query)
    recipients = tuple(told.pop("to", ()))
    senders = told.pop("from", list(recipients[:1]))
    addresses = (*recipients, *senders)
    # A path has the rest of a password with a slash in it.
    fits = host and split.path in ("", "/") and recipients and len(senders) == 1 and not told
    if not fits or not all("@" in parseaddr(one)[1] and one.isprintable() for one in addresses):
        raise InputError(f"{where}: the e-mail URL is not as expected: {_FORM}")
    assert host is not None
    by_tls = split.scheme.lower() == "smtps"
    return Mailbox(
        host,
        port or (465 if by_tls else 587 if split.username else 25),
        by_tls,
        None if split.username is None else unquote(split.username),
        unquote(split.password or ""),
        senders[0],
        recipients,
    )


def mail(mailbox: Mailbox, notice: Notice, timeout: float) -> None:
    """Send a notice; `OSError` or `smtplib.SMTPException` if it was not taken for all recipients.

    `timeout` is in seconds, for each step.
    """
    message = EmailMessage()
    message["Subject"] = notice.title
    message["From"] = mailbox.sender
    message["To"] = ", ".join(mailbox.recipients)
    message["Date"] = formatdate(notice.made_at)
    message["Message-ID"] = f"<{notice.id.removeprefix('urn:uuid:')}@pollwise.invalid>"
    message["Pollwise-Notice"] = notice.id
    message.set_content(notice.text)
    context = ssl.create_default_context()
    connect = (
        smtplib.SMTP_SSL(mailbox.host, mailbox.port, timeout=timeout, context=context)
        if mailbox.by_tls
        else smtplib.SMTP(mailbox.host, mailbox.port, timeout=timeout)
    )
    with connect as server:
        server.ehlo()
        if not mailbox.by_tls:
            if server.has_extn("starttls"):
                server.starttls(context=context)
            elif mailbox.user and mailbox.host not in _HERE:
                raise smtplib.SMTPNotSupportedError(
                    "the mail server has no TLS, which the password needs"
                )
        if mailbox.user:
            try:
                server.login(mailbox.user, mailbox.password or "")
            except smtplib.SMTPNotSupportedError as error:
                raise smtplib.SMTPNotSupportedError(
                    "the mail server takes no login: leave user and password out of the URL"
                ) from error
            except smtplib.SMTPServerDisconnected as error:  # so some refuse a password
                raise smtplib.SMTPAuthenticationError(421, b"") from error
        if refused := server.send_message(message):
            raise smtplib.SMTPRecipientsRefused(refused)
