"""How notices reach commands and files, and what is said when they do not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pollwise.notify import sending
from pollwise.notify.delivery import trial_notice
from pollwise.notify.receivers import Channel, Receiver, receiver_of
from pollwise.notify.sending import NotSentError, send

NOTICE = trial_notice(1_000_000.0)


def command(tmp_path: Path, text: str) -> Receiver:
    """A command that runs this text as Python."""
    (tmp_path / "command.py").write_text(text)
    return receiver_of(f"exec:{sys.executable} {tmp_path / 'command.py'}")


def test_a_command_gets_the_notice(tmp_path):
    receiver = command(
        tmp_path,
        "import json, os, sys; json.dump([json.load(sys.stdin), dict(os.environ)],"
        f" open({str(tmp_path / 'got')!r}, 'w'))",
    )
    send(receiver, NOTICE)
    notice, environment = json.loads((tmp_path / "got").read_text())
    assert notice["id"] == environment["POLLWISE_NOTICE"] == NOTICE.id
    assert environment["POLLWISE_TITLE"] == "Changed: A notice to try this receiver"
    assert "- what went\n+ what came" in environment["POLLWISE_TEXT"]
    assert notice["changes"][0]["url"] == "https://example.org/"


IN_AN_OLD_LOCALE = r"""
import sys
from dataclasses import replace
from pollwise.notify.delivery import trial_notice
from pollwise.notify.receivers import receiver_of
from pollwise.notify.sending import send
assert sys.getfilesystemencoding() == "ascii"
notice = replace(trial_notice(1e6), title="Gr\u00f6\u20ac")
send(receiver_of(sys.argv[1].replace("EURO", "\u20ac")), notice)
"""


def test_a_command_gets_utf_8_in_any_locale(tmp_path):
    got = tmp_path / "got"
    (tmp_path / "€").symlink_to("/bin/sh")
    receiver = f"""exec:{tmp_path}/EURO -c 'printf %s "$POLLWISE_TITLE$0" > {got}' EURO"""
    locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    subprocess.run(
        [sys.executable, "-c", IN_AN_OLD_LOCALE, receiver],
        env={**os.environ, **locale},
        check=True,
    )
    assert got.read_text(encoding="utf-8") == "Grö€€"


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path):
    failing = "import sys; print('no\\x1b[31m route', file=sys.stderr); sys.exit(3)"
    with pytest.raises(NotSentError, match=r"^exit status 3: no\[31m route$"):
        send(command(tmp_path, failing), NOTICE)


def test_a_command_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "_PATIENCE", 0.5)
    with pytest.raises(NotSentError, match="took more than"):
        send(command(tmp_path, "import time; time.sleep(100)"), NOTICE)


def test_a_command_may_ignore_what_it_gets(tmp_path):
    send(command(tmp_path, ""), NOTICE)


def test_a_feed_is_written_as_a_whole(tmp_path):
    receiver = receiver_of(f"atom:{tmp_path / 'feed.xml'}")
    send(receiver, NOTICE)
    feed = ElementTree.parse(tmp_path / "feed.xml").getroot()
    assert feed.tag == "{http://www.w3.org/2005/Atom}feed"
    assert [path.name for path in tmp_path.iterdir()] == ["feed.xml"]


def test_what_goes_wrong_is_told_without_secrets(tmp_path):
    nobody = "http://hidden.invalid:9/hidden"
    with pytest.raises(NotSentError) as caught:
        send(Receiver("n", Channel.WEBHOOK, nobody), NOTICE)
    assert "hidden" not in str(caught.value)
    mailbox = "smtp://me:hidden@127.0.0.1:9/?to=me@a.example"
    with pytest.raises(NotSentError, match="Connection refused"):
        send(Receiver("n", Channel.MAIL, mailbox), NOTICE)
    gone = str(tmp_path / "gone" / "feed.xml")
    with pytest.raises(NotSentError, match="cannot be written"):
        send(Receiver("n", Channel.ATOM, gone), NOTICE)


def test_apprise_sends(monkeypatch):
    pytest.importorskip("apprise")
    with pytest.raises(NotSentError, match=r"^the service cannot be reached, as Apprise tells$"):
        send(receiver_of("json://127.0.0.1:9/hidden"), NOTICE)
