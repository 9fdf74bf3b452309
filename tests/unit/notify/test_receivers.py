"""What can be said of receivers, and that their secrets are shown nowhere."""

from pathlib import Path

import pytest

from pollwise.errors import InputError
from pollwise.notify.receivers import (
    Channel,
    read_receiver,
    receiver_of,
    require_own_names,
    storable_target,
)

HOOK = "https://a.example/hook"


@pytest.mark.parametrize(
    ("target", "channel", "kept", "name"),
    [
        (HOOK, Channel.WEBHOOK, HOOK, "https://a.example #7225f113"),
        (
            "smtp://a.example/?to=me@a.example",
            Channel.MAIL,
            "smtp://a.example/?to=me@a.example",
            "smtp://a.example #31a72e94",
        ),
        ("exec:cat -", Channel.COMMAND, "cat -", "exec:cat ... #37a4b309"),
        ("exec:cat", Channel.COMMAND, "cat", "exec:cat"),
    ],
)
def test_the_target_tells_the_channel(target, channel, kept, name):
    receiver = receiver_of(target)
    assert (receiver.channel, receiver.target, receiver.name) == (channel, kept, name)
    assert storable_target(target) == target


def test_a_feed_is_a_file_wherever_the_next_run_begins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert storable_target("atom:feed.xml") == f"atom:{tmp_path / 'feed.xml'}"
    assert receiver_of("atom:feed.xml").target == str(tmp_path / "feed.xml")
    assert (receiver_of("atom:feed.xml").spacing, receiver_of("exec:cat").spacing) == (0.0, 120.0)
    assert storable_target("file:hook") == f"file:{tmp_path / 'hook'}"
    assert storable_target("file:hook", Path("/etc")) == "file:/etc/hook"


def test_a_table_has_it_all():
    receiver = read_receiver(
        {
            "name": "phone",
            "to": HOOK,
            "secret": "whsec_c2VjcmV0",
            "tags": ("shop", "news"),
            "digest": "12h",
            "at_most": "4/hour",
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


@pytest.mark.parametrize(
    "command",
    ["sh -c 'cat | cat'", "cat '|' \">\"", "cat http://a.example/?a=1&b=2", r"cat it\'s"],
)
def test_a_command_may_have_signs_of_a_shell_in_its_words(command):
    assert receiver_of(f"exec:{command}").target == command


def test_two_receivers_of_one_name_are_refused():
    with pytest.raises(InputError, match="two receivers of notices are called"):
        require_own_names([receiver_of(HOOK), receiver_of(HOOK)])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"name": "", "to": HOOK}, "name: give each receiver a name of its own"),
        ({"name": "n", "to": HOOK, "digest": "often"}, "digest: expected a length of time"),
        ({"name": "n", "to": HOOK, "at_most": "often"}, "at-most 'often': expected a number"),
        ({"name": "n", "to": HOOK, "secret": "whsec_?"}, "secret: expected whsec_ and base64"),
        ({"name": "n", "to": "exec:cat", "secret": "s"}, "only webhooks .* are signed"),
        ({"name": "n", "to": "exec:no-such-program hidden"}, "exec:no-such-program ...: there is"),
        ({"name": "n", "to": f"exec:{__file__} hidden"}, "this file is not executable"),
        ({"name": "n", "to": "exec:cat 'hidden"}, "exec:cat ...: .* close every quote"),
        ({"name": "n", "to": "exec:cat | hidden"}, r"exec:cat ...: no shell .* so '\|' would"),
        ({"name": "n", "to": "exec:cat hidden 2>/dev/null"}, "so '2>' would be a word"),
        ({"name": "n", "to": "exec:cat && cat"}, "so '&&' would be a word"),
        ({"name": "n", "to": "atom:/no/such/folder/x.xml"}, "no file in a folder that is there"),
        ({"name": "n", "to": "atom:~no-such-user/x.xml"}, "~no-such-user/x.xml is no file in a"),
        ({"name": "n", "to": "https:///x"}, "is no URL; check its host and port"),
        (
            {"name": "n", "to": "https://a.example:99999/?key=hidden"},
            r"https://... is no URL; check",
        ),
        ({"name": "n", "to": "https://[hidden"}, r"https://... is no URL; check its host and port"),
        ({"name": "n", "to": "smtp://[hidden"}, "the e-mail URL is not as expected"),
        ({"name": "n", "to": "https://u:hidden@a.example/"}, "a login in the URL of a.example"),
        ({"name": "n", "to": "smtp://a.example/"}, "the e-mail URL is not as expected"),
        ({"name": "n", "to": "smtp://u:a/hidden@h/?to=a@b"}, "the e-mail URL is not as expected"),
        ({"name": "n", "to": "smtp://u:a@b/hidden@h/?to=a@b"}, "URL is not as expected"),
        ({"name": "n", "to": "smtp://a.example/?to=me@a.example&cc=x"}, "not as expected"),
        ({"name": "n", "to": "hidden"}, "this is no receiver; give https://"),
        ({"name": "n", "to": "hidden:hidden"}, "this is no receiver; give https://"),
    ],
)
def test_what_cannot_be_used_is_one_line(table, message):
    with pytest.raises(InputError, match=message) as caught:
        read_receiver(table)
    assert "\n" not in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_program_whose_path_has_spaces_needs_quotes(tmp_path):
    program = tmp_path / "my hook"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(InputError, match="a path with spaces needs quotes of its own"):
        receiver_of(f"exec:{program}")
    assert receiver_of(f"exec:'{program}'").channel is Channel.COMMAND


@pytest.mark.parametrize("target", ["\udc80", "https://a/\udc80", "exec:cat \udc80", "file:\udc80"])
@pytest.mark.parametrize("read", [receiver_of, storable_target])
def test_bytes_that_are_no_text_are_refused(read, target):
    with pytest.raises(InputError, match="a byte in it is no text in UTF-8; take it out"):
        read(target)


@pytest.mark.parametrize(
    "target",
    [
        "smtp://me:hidden@a.example/?to=me@a.example",
        "https://a.example/hidden?token=hidden",
        "discord://hidden/hidden",
    ],
)
def test_what_may_be_secret_is_not_kept_in_a_database(target):
    with pytest.raises(InputError, match="it may hold a secret") as caught:
        storable_target(target)
    assert "hidden" not in str(caught.value)


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
    assert (receiver.channel, receiver.name) == (Channel.APPRISE, "json://... #9654e4cf")


def test_paths_may_begin_at_home(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert receiver_of("atom:~/x.xml").target == str(tmp_path / "x.xml")
