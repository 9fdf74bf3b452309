"""Notices over real sockets: what arrives at a webhook and a mail server, and from a watch."""

import asyncio
import base64
import email
import hashlib
import hmac
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email.message import Message
from pathlib import Path

import pytest
import standardwebhooks
from aiohttp import web

from pollwise.insight.receivers import rests_until
from pollwise.notify import sending
from pollwise.notify.delivery import trial_notice
from pollwise.notify.receivers import Channel, Receiver, name_of, read_receiver, receiver_of
from pollwise.notify.sending import NotSentError, send
from pollwise.store import Store
from pollwise.testing.webserver import MisbehavingServer

from ..fork_server import FORKED, SOURCE

PATIENCE = 60.0
NOTICE = trial_notice(1_000_000.0)


class Hook:
    """A web server that takes notices, but for the first few; `answers` come first."""

    def __init__(self) -> None:
        self.posted: asyncio.Queue[tuple[dict[str, str], bytes]] = asyncio.Queue()
        self.answers: list[web.Response] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.posted.put_nowait((dict(request.headers), await request.read()))
        return self.answers.pop(0) if self.answers else web.Response(status=204)

    async def next(self) -> tuple[dict[str, str], bytes]:
        return await asyncio.wait_for(self.posted.get(), PATIENCE)


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", hook.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [address] = runner.addresses
    hook.url = f"http://127.0.0.1:{address[1]}/hook"
    yield hook
    await runner.cleanup()


async def test_what_is_posted_is_signed(hook):
    key = b"a key of 24 characters.."
    secret = f"whsec_{base64.b64encode(key).decode()}"
    receiver = read_receiver({"name": "n", "to": hook.url, "secret": secret})
    await asyncio.to_thread(send, receiver, NOTICE)
    headers, body = await hook.next()
    got = {name.lower(): value for name, value in headers.items()}
    signed = f"{got['webhook-id']}.{got['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert got["webhook-signature"] == f"v1,{expected}"
    assert got["webhook-id"] == json.loads(body)["id"] == NOTICE.id
    assert got["content-type"] == "application/json"


async def test_standard_libraries_can_verify_it(hook):
    secret = f"whsec_{base64.b64encode(b'secret' * 4).decode()}"
    receiver = read_receiver({"name": "n", "to": hook.url, "secret": secret})
    await asyncio.to_thread(send, receiver, NOTICE)
    headers, body = await hook.next()
    verified = standardwebhooks.Webhook(secret).verify(
        body, {name.lower(): value for name, value in headers.items()}
    )
    assert verified["id"] == NOTICE.id


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda hook: web.Response(status=500), "HTTP status 500"),
        (
            lambda hook: web.Response(status=302, headers={"Location": hook.url}),
            "HTTP status 302, a redirect, which is not followed",
        ),
    ],
)
async def test_an_answer_that_takes_nothing_is_a_failure(hook, answer, message):
    hook.answers.append(answer(hook))
    with pytest.raises(NotSentError, match=message):
        await asyncio.to_thread(send, receiver_of(hook.url), NOTICE)
    assert hook.posted.qsize() == 1


@pytest.mark.parametrize(
    ("status", "told", "asked"), [(429, "7", 7.0), (503, "1000000", 86_400.0), (500, "7", None)]
)
async def test_how_long_a_receiver_wants_to_be_left_alone(hook, status, told, asked):
    hook.answers.append(web.Response(status=status, headers={"Retry-After": told}))
    with pytest.raises(NotSentError) as caught:
        await asyncio.to_thread(send, receiver_of(hook.url), NOTICE)
    assert caught.value.retry_after == asked


@pytest.mark.parametrize(("interim", "arrives"), [(1, True), (10, True), (11, False)])
async def test_interim_answers_are_not_the_answer(interim, arrives):
    async with MisbehavingServer() as server:
        sent = asyncio.to_thread(send, receiver_of(server.url(f"/interim/{interim}")), NOTICE)
        if arrives:
            await sent
            return
        with pytest.raises(NotSentError, match="the answer is not as HTTP has it"):
            await sent


async def test_notices_take_the_proxy_of_the_environment(hook, monkeypatch):
    monkeypatch.setenv("http_proxy", hook.url)
    await asyncio.to_thread(send, receiver_of("http://a.example/hook"), NOTICE)
    headers, _ = await hook.next()
    assert headers["Host"] == "a.example"


@pytest.mark.parametrize(
    ("speaks_tls", "message"),
    [
        (True, "its certificate is not trusted: self-signed certificate"),
        (False, "TLS failed: wrong version number"),
    ],
)
async def test_why_there_is_no_tls_is_said_in_words(speaks_tls, message):
    async with MisbehavingServer(tls=speaks_tls) as server:
        receiver = receiver_of(server.url("/hook").replace("http:", "https:"))
        with pytest.raises(NotSentError) as caught:
            await asyncio.to_thread(send, receiver, NOTICE)
    assert str(caught.value) == message


async def test_a_server_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(sending, "_PATIENCE", 0.5)
    async with MisbehavingServer() as server:
        with pytest.raises(NotSentError, match="no answer within"):
            await asyncio.to_thread(send, receiver_of(server.url("/never")), NOTICE)


@asynccontextmanager
async def mail_server(
    refused: bytes = b"", hello: bytes = b"yes", login: bytes = b""
) -> AsyncIterator[tuple[int, list[bytes]]]:
    """The port of an SMTP server, and the mail that it took.

    It refuses lines that begin with `refused`, and says `hello`; `login` is what it says to one,
    before it ends the connection.
    """
    mails: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            if refused and line.upper().startswith(refused):
                writer.write(b"550 hidden\r\n")
            elif line.upper().startswith(b"EHLO"):
                writer.write(b"250-here\r\n250 " + hello + b"\r\n")
            elif line.upper().startswith(b"AUTH"):
                writer.write(login)
                break
            elif line.upper().startswith(b"DATA"):
                writer.write(b"354 go on\r\n")
                mails.append(await reader.readuntil(b"\r\n.\r\n"))
                writer.write(b"250 taken\r\n")
            else:
                writer.write(b"221 bye\r\n" if line.upper() == b"QUIT\r\n" else b"250 yes\r\n")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], mails


async def test_a_notice_by_mail():
    async with mail_server() as (port, mails):
        target = f"smtp://127.0.0.1:{port}/?to=me@a.example&to=you@a.example&from=p@a.example"
        await asyncio.to_thread(send, receiver_of(target), NOTICE)
    mail: Message = email.message_from_bytes(mails[0])
    assert mail["Subject"] == "Changed: A notice to try this receiver"
    assert (mail["From"], mail["To"]) == ("p@a.example", "me@a.example, you@a.example")
    assert mail["Pollwise-Notice"] == NOTICE.id
    assert NOTICE.id.removeprefix("urn:uuid:") in mail["Message-ID"]
    assert "+ what came" in mail.get_payload()


async def test_mail_that_is_refused_is_told_without_what_the_server_said():
    async with mail_server(b"MAIL") as (port, _):
        receiver = receiver_of(f"smtp://127.0.0.1:{port}/?to=me@a.example")
        with pytest.raises(NotSentError, match=r"^the mail server answered 550$"):
            await asyncio.to_thread(send, receiver, NOTICE)


async def test_a_mail_server_without_a_login_is_told_in_words():
    async with mail_server() as (port, mails):
        target = f"smtp://me:hidden@127.0.0.1:{port}/?to=me@a.example"
        told = r"^the mail server takes no login: leave user and password out of the URL$"
        with pytest.raises(NotSentError, match=told):
            await asyncio.to_thread(send, Receiver("n", Channel.MAIL, target), NOTICE)
    assert not mails


@pytest.mark.parametrize("login", [b"535 hidden\r\n", b"", b"421 hidden\r\n"])
async def test_a_wrong_password_is_told_in_words_however_the_server_says_so(login):
    async with mail_server(hello=b"AUTH PLAIN", login=login) as (port, mails):
        target = f"smtp://me:hidden@127.0.0.1:{port}/?to=me@a.example"
        told = r"^the mail server does not take this user and password$"
        with pytest.raises(NotSentError, match=told):
            await asyncio.to_thread(send, Receiver("n", Channel.MAIL, target), NOTICE)
    assert not mails


async def test_what_a_service_answers_to_apprise_is_told(hook):
    pytest.importorskip("apprise")
    hook.answers.append(web.Response(status=403))
    receiver = Receiver("n", Channel.APPRISE, hook.url.replace("http:", "json:"))
    with pytest.raises(NotSentError, match=r"^the service answered with the status 403, as Appr"):
        await asyncio.to_thread(send, receiver, NOTICE)


async def test_a_recipient_who_is_refused_is_a_failure():
    async with mail_server(b"RCPT TO:<YOU@") as (port, mails):
        receiver = receiver_of(f"smtp://127.0.0.1:{port}/?to=me@a.example&to=you@a.example")
        with pytest.raises(NotSentError, match=r"^the mail server refused an address$"):
            await asyncio.to_thread(send, receiver, NOTICE)
    assert len(mails) == 1


async def until(stream: asyncio.StreamReader, part: str) -> str:
    """Wait for a line that has this part."""
    lines = []
    while line := (await asyncio.wait_for(stream.readline(), PATIENCE)).decode():
        lines.append(line)
        if part in line:
            return line
    raise AssertionError(f"no line has {part!r}: {lines}")


async def test_a_watch_tells_its_receivers_and_goes_on_after_a_restart(hook, tmp_path: Path):
    async with MisbehavingServer() as server:
        page, feed = server.url("/page"), tmp_path / "feed.xml"
        server.set_page("/page", "<p>Number one")
        hook.answers.append(web.Response(status=503, headers={"Retry-After": "600"}))

        async def started(*words: str) -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec(
                *(*FORKED, "watch", "--budget", "600/minute", *words),
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": SOURCE},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )

        watch = await started(page, "--verbose", "--notify", hook.url, "--notify", "atom:feed.xml")
        try:
            assert watch.stderr is not None
            await until(watch.stderr, "first copy")
            server.set_page("/page", "<p>Number two")
            await until(watch.stderr, "  changed  ")
            line = await until(watch.stderr, "notices to")
            assert (
                f"notices to {name_of(hook.url)} fail (HTTP status 503): tried again after"
                " 10 minutes" in line
            )
            watch.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(watch.wait(), PATIENCE) == 0
            with Store.open_readonly(tmp_path / "pollwise.db") as store:
                [one] = [one for one in store.receivers() if one.failures]
            assert rests_until(one, 1e12) == pytest.approx(one.tried_at + 600.0, abs=1.0)
            refused = json.loads((await hook.next())[1])
            assert "Number two" in feed.read_text()

            forget_rests(tmp_path / "pollwise.db")
            watch = await started()  # the receivers are kept, and what was not told
            assert watch.stderr is not None
            await until(watch.stderr, f"notices to {name_of(hook.url)} arrive again")
            watch.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(watch.wait(), PATIENCE) == 0
        finally:
            if watch.returncode is None:
                watch.kill()
                await watch.wait()
        taken = json.loads((await hook.next())[1])
        assert taken["id"] == refused["id"]
        [change] = taken["changes"]
        assert (change["url"], change["removed"], change["added"]) == (
            page,
            "Number one",
            "Number two",
        )
        assert hook.posted.empty()


def forget_rests(db: Path) -> None:
    """Let receivers that failed be tried at once."""
    with Store.open(db) as store:
        for stored in store.receivers():
            store.save_receiver(replace(stored, tried_at=0.0))
