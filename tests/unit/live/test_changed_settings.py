"""What is told of settings that are others than in the run before."""

from dataclasses import fields, replace

import pytest

from pollwise.cli.options import ObjectiveName, parameters_of
from pollwise.live.changed_settings import changes_of
from pollwise.settings import CollectSettings, Settings, WatchSettings

EPHEMERAL = ObjectiveName.ephemeral
WATCH, COLLECT = WatchSettings(budget="20/hour"), CollectSettings()


@pytest.mark.parametrize(
    ("before", "now", "line"),
    [
        (
            WATCH,
            replace(WATCH, budget="60/hour"),
            "budget 60/hour, before 20/hour; what was learned is kept",
        ),
        (
            WATCH,
            replace(WATCH, objective="delay"),
            "objective delay, before freshness; what was learned of the pages is kept, the price of"
            " a poll is found anew",
        ),
        (
            replace(WATCH, objective="ephemeral", parameters=parameters_of(EPHEMERAL, 6.0)),
            replace(WATCH, objective="ephemeral", parameters=parameters_of(EPHEMERAL, 0.5)),
            "objective ephemeral (half-life 0.5 hours), before ephemeral (half-life 6 hours); what"
            " was learned of the pages is kept, the price of a poll is found anew",
        ),
        (WATCH, replace(WATCH, allow_private=True), "allow-private yes, before no"),
        (replace(WATCH, user_agent="robot/1"), WATCH, "user-agent none, before robot/1"),
        (COLLECT, replace(COLLECT, allow=("a", "b")), "allow a, b, before none"),
        (
            replace(COLLECT, subject="whales"),
            replace(COLLECT, subject="The whale"),
            "topic The whale, before whales; by their stems these are the same words, so all that"
            " is known of the topic stays",
        ),
        (replace(COLLECT, max_depth=3), COLLECT, "max-depth none, before 3"),
        (COLLECT, replace(COLLECT, crawl_delay=2.5), "crawl-delay 2.5, before 1"),
    ],
)
def test_a_change_is_told_in_one_line(before: Settings, now: Settings, line: str) -> None:
    assert list(changes_of(before, now)) == [line]


def test_what_is_said_again_is_not_told() -> None:
    assert list(changes_of(WATCH, replace(WATCH, budget="20/hour"))) == []
    again = replace(WATCH, budget="20/hour", first_copies="60/minute")
    assert list(changes_of(WATCH, again)) == []
    assert list(changes_of(None, WATCH)) == []
    assert list(changes_of(COLLECT, replace(COLLECT, workers=3, requests=5))) == []


def test_everything_else_that_is_kept_is_told() -> None:
    of_type = {int: 5, float: 0.5, bool: True, type(None): 2}
    others = {
        **dict.fromkeys(("budget", "first_copies"), "7/minute"),
        **dict.fromkeys(("at_least", "at_most"), "1/day"),
        **dict.fromkeys(("allow", "deny"), ("x",)),
        **dict.fromkeys(("header_file", "cookie_file"), "some.file"),
        "user_agent": "robot/1.0",
        "politeness": "address",
        "proxy": "http://proxy.example:3128",
        "headers": ("Accept-Language: de",),
        "groups": ("news=a.example,b.example",),
        "host_limits": ("a.example=200/day",),
        "notify": ("https://a.example/",),
        "quiet": ("22:00-06:00",),
        "shares": ("shop=30%",),
        "subject": "whales",
        "listen": "127.0.0.1:2",
        "listen_token": "env:B",
        "public_url": "https://b.example/",
    }
    typed = {"headers": "header", "groups": "group", "host_limits": "host-limit"}
    typed |= {"shares": "share", "subject": "topic"}
    silent = {"topic", "given", "given_plain", "requests", "workers"}
    silent |= {"parameters", "objective", "keep"}
    listening = {"listen": "127.0.0.1:1", "listen_token": "env:A"}
    watch = replace(WATCH, **listening, public_url="https://a.example/")
    for settings in (watch, COLLECT):
        for field in fields(settings):
            if field.name not in silent:
                value = others.get(field.name) or of_type[type(getattr(settings, field.name))]
                changed = replace(settings, **{field.name: value})
                (line,) = changes_of(settings, changed)
                option = typed.get(field.name, field.name.replace("_", "-"))
                assert line.startswith(option + " ")
