"""The settings: those that hold at once, those that need a restart; receivers, and the database."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.forms import Field, Form, done, read_form, told
from pollwise.dashboard.frame import frame_of
from pollwise.dashboard.pages import page
from pollwise.errors import InputError
from pollwise.insight.receivers import rests_until
from pollwise.live.requests import ChangeSettings
from pollwise.quiet_hours import QuietHours
from pollwise.scheduler.budgets import parse_budget, parse_shares
from pollwise.settings import CollectSettings, Settings, WatchSettings, latest_settings
from pollwise.store import Store
from pollwise.store.base import StoreReader
from pollwise.store.retention import parse_retention
from pollwise.texts import plain

__all__ = ["settings_routes"]

_PATH = "/settings"

_AT_A_RESTART = (
    ("objective", "What a poll is worth", "--objective"),
    ("at_least", "Polls of each page, at least", "--at-least"),
    ("at_most", "Polls of each page, at most", "--at-most"),
    ("first_copies", "First copies", "--first-copies"),
    ("crawl_delay", "A host is left alone after a poll, seconds", "--crawl-delay"),
    ("politeness", "What shares a crawl delay", "--politeness"),
    ("host_limits", "Limits of hosts", "--host-limit"),
    ("timeout", "Longest wait for an answer, seconds", "--timeout"),
    ("max_size", "Largest answer, MiB", "--max-size"),
    ("user_agent", "Who asks", "--user-agent"),
    ("proxy", "Proxy", "--proxy"),
    ("allow_private", "Redirects to private addresses", "--allow-private"),
    ("listen", "Listens for signals at", "--listen"),
    ("public_url", "Public URL, for hubs", "--public-url"),
)
"""Fields of settings, what they are, and the options that tell them."""
_WITHOUT_DEFAULT = ("proxy", "listen", "public_url")
"""Those of these fields that are nothing if they are not told."""


@dataclass(frozen=True, slots=True)
class _FixedSetting:
    """A setting that holds until the next start, and the option or key that tells it."""

    what: str
    value: str
    option: str


@dataclass(frozen=True, slots=True)
class _ShownReceiver:
    """How a receiver of notices does; see `StoredReceiver`. So many changes are `waiting`."""

    name: str
    sent_at: float | None
    failures: int
    error: str | None
    next_try_at: float | None
    waiting: int


def settings_routes(answers: Answers) -> list[Route]:
    """The settings, and the form of those that hold at once."""

    async def settings(request: Request) -> Response:
        now = await answers.read(latest_settings)
        form = Form("settings", _FIELDS, _present(now))
        if request.method == "POST" and form.take(await read_form(request)):
            if not form.changed:
                form.refuse("", "nothing was changed: write another value first")
            else:
                values = {name: form.values[name] for name in form.changed}
                if await form.ask(answers, ChangeSettings(**values)) is not None:
                    return done(_PATH, {"settings": len(values)})
        return await _shown(answers, request, form, now)

    return [Route(_PATH, settings, methods=["GET", "POST"])]


async def _shown(
    answers: Answers, request: Request, form: Form, settings: Settings | None
) -> Response:
    frame = await frame_of(answers, request)
    snapshot = await answers.snapshot()
    watch = settings if isinstance(settings, WatchSettings) else WatchSettings()
    receivers = await answers.read(partial(_receivers, now=time.time()))
    keep = parse_retention(watch.keep if settings is None else settings.keep)
    growth = (await answers.status()).growth
    tags = {tag for record in snapshot.records for tag in record.page.tags}
    return page(
        "settings.html",
        form.status,
        frame=frame,
        flash=told(request),
        form=form,
        is_collection=isinstance(settings, CollectSettings),
        fixed=_fixed(settings or watch),
        receivers=receivers,
        unused=[tag for tag in parse_shares(watch.shares) if tag not in tags],
        snapshot=snapshot,
        growth=growth,
        begun_at=snapshot.runs[0].started_at if snapshot.runs else None,
        keep=keep,
    )


def _present(settings: Settings | None) -> dict[str, str]:
    """What the fields hold now; nothing of a collection, which cannot be changed here."""
    if isinstance(settings, CollectSettings):
        return {}
    watch = settings or WatchSettings()
    return {
        "budget": watch.budget,
        "shares": "\n".join(watch.shares),
        "quiet": "\n".join(watch.quiet),
        "keep": watch.keep,
    }


def _fixed(settings: Settings) -> list[_FixedSetting]:
    """The settings that only a restart changes; those of a collection by options of `collect`."""
    is_option = isinstance(settings, CollectSettings)
    return [
        _FixedSetting(
            what,
            _said(getattr(settings, name)) or ("none" if name in _WITHOUT_DEFAULT else "default"),
            option if is_option else option[2:],
        )
        for name, what, option in _AT_A_RESTART
        if hasattr(settings, name)
    ]


def _said(value: Any) -> str:
    """What a field holds; empty: it was not told."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return plain(value)
    return str(value)


def _receivers(store: Store, *, now: float) -> list[_ShownReceiver]:
    return [
        _ShownReceiver(
            one.name,
            one.sent_at,
            one.failures,
            one.error,
            rests_until(one, now),
            _waiting(store, one.told_seq),
        )
        for one in store.receivers()
    ]


def _waiting(store: StoreReader, told_seq: int) -> int:
    return store.count_changes(after=told_seq, to_tell=True)[0]


def _checked(check: Callable[[str], object]) -> Callable[[str], str]:
    """Reads a text that is kept as it is, if it can be used."""

    def read(text: str) -> str:
        check(text.strip())
        return text.strip()

    return read


def _checked_lines(check: Callable[[tuple[str, ...]], object]) -> Callable[[str], tuple[str, ...]]:
    """Reads texts that are kept as they are, one on each line, if they can be used."""

    def read(text: str) -> tuple[str, ...]:
        lines = tuple(line.strip() for line in text.split("\n") if line.strip())
        check(lines)
        return lines

    return read


def _require_budget(text: str) -> None:
    if not text:
        raise InputError("no budget is named: write one such as 500/hour or 4/day/page")
    parse_budget(text)


_FIELDS = {
    "budget": Field(_checked(_require_budget), longest=60),
    "shares": Field(_checked_lines(parse_shares), longest=5_000, lines=True),
    "quiet": Field(_checked_lines(QuietHours), lines=True),
    "keep": Field(_checked(parse_retention), longest=40),
}
