"""What can be said of receivers, and that their secrets are shown nowhere."""

from pathlib import Path

import pytest

from pollwise.errors import InputError
from pollwise.notify.receivers import (
    Kind,
    read_receiver,
    receiver_of,
    require_own_names,
    storable_target,
)

HOOK = "https://a.example/hook"


@pytest.mark.parametrize(
    ("target", "kind", "kept"),
    [
        (HOOK, Kind.WEBHOOK, HOOK),
        ("smtp://a.example/?to=me@a.example", Kind.MAIL, "smtp://a.example/?to=me@a.example"),
        ("exec:cat -", Kind.COMMAND, "cat -"),
    ],
)
def test_the_target_tells_the_kind(target, kind, kept):
    receiver = receiver_of(target)
    assert (receiver.kind, receiver.target, receiver.name) == (kind, kept, target)
    assert storable_target(target) == target


def test_a_feed_is_a_file_wherever_the_next_run_begins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert storable_target("atom:feed.xml") == f"atom:{tmp_path / 'feed.xml'}"
    assert receiver_of("atom:feed.xml").target == str(tmp_path / "feed.xml")
    assert (receiver_of("atom:feed.xml").spacing, receiver_of("exec:cat").spacing) == (0.0, 120.0)
    assert storable_target("file:hook") == f"file:{tmp_path / 'hook'}"


def test_a_table_has_it_all(monkeypatch, tmp_path):
    monkeypatch.setenv("HOOK", f" {HOOK}\n")
    (tmp_path / "secret").write_text("whsec_c2VjcmV0\n")
    receiver = read_receiver(
        {
            "name": "phone",
            "to": {"env": "HOOK"},
            "secret": {"file": str(tmp_path / "secret")},
            "tags": ["shop", "news"],
            "digest": "12h",
            "at-most": "4/hour",
        }
    )
    assert (receiver.name, receiver.target, receiver.secret) == ("phone", HOOK, "whsec_c2VjcmV0")
    assert (receiver.tags, receiver.digest, receiver.spacing) == (("shop", "news"), 43_200.0, 900.0)
    assert "c2VjcmV0" not in f"{receiver!r} {receiver}"
    assert HOOK not in repr(receiver)


def test_a_target_may_come_from_a_variable_or_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("HOOK", HOOK)
    receiver = receiver_of("env:HOOK")
    assert (receiver.name, receiver.target) == ("env:HOOK", HOOK)
    assert storable_target("env:HOOK") == "env:HOOK"
    (tmp_path / "hook").write_text(HOOK)
    assert receiver_of(f"file:{tmp_path / 'hook'}").target == HOOK


def test_two_receivers_of_one_name_are_refused():
    with pytest.raises(InputError, match="two receivers of notices are called"):
        require_own_names([receiver_of(HOOK), receiver_of(HOOK)])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"to": HOOK}, r"\[\[notify\]\] name: give each receiver a name of its own"),
        ({"name": ""}, "name: give each receiver a name"),
        ({"name": "n"}, r'\[\[notify\]\] "n" to: it is missing; give https://'),
        ({"name": "n", "too": HOOK}, r"\[\[notify\]\] too: .* the nearest one is to"),
        ({"name": "n", "to": HOOK, "digset": "1h"}, "digset: .* the nearest one is digest"),
        ({"name": "n", "to": 5}, '"n" to: expected a text, {env = "NAME"} or {file = "PATH"}'),
        ({"name": "n", "to": {"env": "NOT_SET"}}, "variable NOT_SET is not set: set it"),
        ({"name": "n", "to": {"file": "/none"}}, "/none cannot be read"),
        ({"name": "n", "to": HOOK, "tags": "shop"}, "tags: expected a list of texts"),
        ({"name": "n", "to": HOOK, "digest": "often"}, "digest: expected a length of time"),
        ({"name": "n", "to": HOOK, "digest": 5}, "digest: expected a length of time"),
        ({"name": "n", "to": HOOK, "at_most": "often"}, "at_most 'often': expected a number"),
        ({"name": "n", "to": HOOK, "secret": "whsec_?"}, "secret: expected whsec_ and base64"),
        ({"name": "n", "to": "exec:cat", "secret": "s"}, "only webhooks .* are signed"),
        ({"name": "n", "to": "exec:no-such-program-here"}, "there is no such program"),
        ({"name": "n", "to": "exec:cat 'open"}, "close every quote"),
        ({"name": "n", "to": "atom:/no/such/folder/x.xml"}, "no file in a folder that is there"),
        ({"name": "n", "to": "https:///x"}, "is no URL; check its host and port"),
        ({"name": "n", "to": "https://a.example:99999/"}, "is no URL; check its host and port"),
        ({"name": "n", "to": "https://u:hidden@a.example/"}, "a login in the URL of a.example"),
        ({"name": "n", "to": "smtp://a.example/"}, "the e-mail URL is not as expected"),
        ({"name": "n", "to": "smtp://a.example/?to=me@a.example&cc=x"}, "not as expected"),
        ({"name": "n", "to": "phone"}, "'phone' is no receiver; give https://"),
    ],
)
def test_what_cannot_be_used_is_one_line(table, message, monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(InputError, match=message) as caught:
        read_receiver(table)
    assert "\n" not in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "target",
    [
        "smtp://me:hidden@a.example/?to=me@a.example",
        "https://a.example/?token=hidden",
        "discord://hidden/hidden",
    ],
)
def test_what_may_be_secret_is_not_kept_in_a_database(target):
    with pytest.raises(InputError, match="it may hold a secret") as caught:
        storable_target(target)
    assert target.startswith("https") or "hidden" not in str(caught.value)


def test_apprise_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pollwise.extras.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"needs apprise: install it .*pollwise\[notify\]"
    ) as error:
        receiver_of("discord://hidden/hidden")
    assert "hidden" not in str(error.value)


def test_a_url_that_apprise_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("apprise")
    with pytest.raises(InputError, match=r"Apprise cannot use nosuch://\.\.\.") as error:
        receiver_of("nosuch://hidden/hidden")
    assert "hidden" not in str(error.value)
    receiver = receiver_of("json://localhost/hidden")
    assert (receiver.kind, receiver.name) == (Kind.APPRISE, "json://...")


def test_paths_may_begin_at_home(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert receiver_of("atom:~/x.xml").target == str(tmp_path / "x.xml")
