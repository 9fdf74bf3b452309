"""Every operation and every form: what cannot be is refused at its field, and changes nothing."""

import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from starlette.routing import Route
from tests.unit.dashboard.asked import Ask, patient
from tests.unit.insight.a_collection import make_collection
from tests.unit.insight.a_watch import URLS, make_watch
from tests.unit.insight.held import Held

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.fields import MOST_NUMBER, TellableField, tellable
from pollwise.dashboard.api.operations import Operation
from pollwise.dashboard.api.routes import api_operations
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.store import Store
from pollwise.store.records import Batch, PollResult
from pollwise.types import Mask, Noise, Observation, Outcome, PageMemory

OPERATIONS = api_operations(cast(Any, None), cast(Any, None))
PAGE = 0
NEEDED: Mapping[str, Any] = {
    "url": URLS[PAGE],
    "urls": [URLS[PAGE]],
    "budget": "1/hour",
    "text": "a text",
}
"""What fits the fields that must be told."""
FOREIGN = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors"}
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Refused:
    """A request that is refused with this status; the message is at a field of a form."""

    what: str
    method: str
    target: str
    told: object = None
    sent: tuple[tuple[str, str], ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 400
    form: str = ""
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.target[:60]}: {self.what}"


def wrong(one: TellableField, *, in_query: bool) -> Iterator[tuple[str, object]]:
    """Values that a field must not have, and what is wrong with them."""
    if one.kind is not str or not in_query:
        yield "wrong type", "a text" if one.kind is not str else 1
    if not in_query:
        yield "wrong type", {"a": None}
    if one.kind is str:
        yield "too long", "x" * (int(one.told.most or 0) + 1)
    if one.kind is tuple:
        yield "wrong type", [None]
        if one.told.most is not None:
            good: object = 1 if one.item is int else "x"
            yield "too many", [good] * (int(one.told.most) + 1)
        yield "too long", [MOST_NUMBER + 1] if one.item is int else ["x" * (one.told.longest + 1)]
    if one.kind is int:
        yield "too large", MOST_NUMBER * 1000 if one.told.most is None else int(one.told.most) + 1
        yield "wrong type", 1.5
    if one.kind is float and one.told.above is not None:
        yield "too small", one.told.above
    if one.kind is float and one.told.least is not None:
        yield "too small", one.told.least / 2 if one.told.least else -1.0
    if one.kind is float and one.told.most is not None:
        yield "too large", one.told.most * 2
    if issubclass(one.kind, Enum):
        yield "wrong type", "colour"


def needed(cls: type, **more: object) -> dict[str, Any]:
    required = {name: NEEDED[name] for name, one in tellable(cls).items() if one.required}
    return {**required, **more}


def of_operation(one: Operation) -> Iterator[Refused]:
    path = one.path.replace("{page}", str(PAGE)).replace("{part}", "1")
    body = None if one.body is None else needed(one.body)

    def target(**more: object) -> str:
        asked = needed(one.query, **more)
        return f"{path}?{urlencode(asked)}" if asked else path

    yield Refused("foreign", one.method, target(), body, headers=FOREIGN, status=403)
    if one.method != "GET":
        foreign = {"origin": "http://evil.example"}
        yield Refused("foreign", one.method, target(), body, headers=foreign, status=403)
    yield Refused("unknown", one.method, target(x="1"), body, name="x")
    for name, each in tellable(one.query).items():
        for what, value in wrong(each, in_query=True):
            yield Refused(what, one.method, target(**{name: value}), body, name=name)
    if "{part}" in one.path:
        yield Refused("stale", one.method, target(text="it was"), body, status=409, name="text")
    if one.body is None:
        return
    yield Refused("unknown", one.method, target(), {**(body or {}), "x": 1}, name="x")
    for name, each in tellable(one.body).items():
        for what, value in wrong(each, in_query=False):
            told = {**(body or {}), name: value}
            yield Refused(what, one.method, target(), told, name=name)
    if one.path.endswith("/masks"):
        told = {"text": "it was"}
        yield Refused("stale", one.method, target(), told, name="text")


@dataclass(frozen=True)
class SentForm:
    """A form as a browser sends it; `was` is what its fields held when it was shown."""

    name: str
    path: str
    fields: Mapping[str, str]
    was: Mapping[str, str] = field(default_factory=dict)
    several: tuple[str, ...] = ()


WANTED = {
    **{"name": "Every", "tags": "z", "weight": "2", "cost": "2", "at_least": "1/week"},
    **{"at_most": "9/day", "select": "css:p", "ignore": "css:i"},
    **{"notify_when": "falls by 5 % and lacks sold out"},
}
FORMS = (
    SentForm("add", "/pages", {"do": "add", "urls": "http://c.example/", "tags": "", "weight": ""}),
    SentForm("change", "/pages", {"do": "tag", "page": "0", "tags": "z"}, several=("page",)),
    SentForm("budget", "/budget", {"budget": "7/hour"}),
    SentForm(
        "settings",
        "/settings",
        {"budget": "7/hour", "shares": "x=30%", "quiet": "22:00-06:00", "keep": "20"},
        {"budget": "1/day/page", "shares": "", "quiet": "", "keep": "all"},
    ),
    *(SentForm("marks", "/changes", {name: "1"}) for name in ("read", "unread", "up_to")),
    SentForm(
        "settings",
        f"/pages/{PAGE}/settings",
        WANTED,
        {**dict.fromkeys(WANTED, ""), "name": "Every Day", "tags": "x", "weight": "1", "cost": "1"},
    ),
    SentForm("parts", f"/pages/{PAGE}/mask", {"text": "a text"}),
    SentForm("parts", f"/pages/{PAGE}/unmask", {"number": "1", "text": "it was"}),
    *(SentForm("parts", f"/pages/{PAGE}/{deed}", {}) for deed in ("pause", "resume")),
    *(SentForm("parts", f"/pages/{PAGE}/{deed}", {}) for deed in ("remove", "signal")),
)
TEXTS_OF_PAGES = "text"
"""A field that may have any character, as pages may."""


def of_form(one: SentForm) -> Iterator[Refused]:
    whole = {**one.fields, **{f"was.{name}": value for name, value in one.was.items()}}

    def refused(
        what: str,
        status: int,
        about: str,
        changed: Mapping[str, str] | None = None,
        more: tuple[tuple[str, str], ...] = (),
    ) -> Refused:
        pairs = (*{**whole, **(changed or {})}.items(), *more)
        return Refused(what, "POST", one.path, None, pairs, {}, status, one.name, about)

    good = tuple(whole.items())
    for foreign in (FOREIGN, {"origin": "http://evil.example"}):
        yield Refused("foreign", "POST", one.path, sent=good, headers=foreign, status=403)
    yield Refused("no form", "POST", one.path, told=dict(whole), status=415)
    yield refused("unknown", 400, "", more=(("x", "1"),))
    for name, value in one.fields.items():
        if name != "do":  # it says which form this is
            yield refused("too long", 400, name, {name: "9" * 300_000})
            if name != TEXTS_OF_PAGES:
                yield refused("wrong type", 400, name, {name: "\a"})
        if name not in one.several:
            yield refused("told twice", 400, name, more=((name, value),))
        if name in one.was:
            yield refused("stale", 409, name, {f"was.{name}": "1/minute"})
    if TEXTS_OF_PAGES in one.fields:
        yield refused("stale", 409, "")


CASES = [
    *(case for one in OPERATIONS for case in of_operation(one)),
    *(case for one in FORMS for case in of_form(one)),
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A watch of which a part of a page is masked; nothing here may change it."""
    path: Path = tmp_path_factory.mktemp("refusals") / "x.db"
    now = time.time()
    make_watch(path, now)
    part = Mask(("", "a"), ("b", ""), "", 1, 1, 100, sample="another text")
    remembered = PageMemory(text_hash="00", noise=Noise(masks=(part,)))
    seen = Observation(PAGE, now, Outcome.UNCHANGED)
    with Store.open(path) as store:
        store.commit(Batch(polls=(PollResult(seen, remembered),)))
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asking(db: Path) -> AsyncIterator[Ask]:
    """Asks an application that answers for the watch."""
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        yield patient(app)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_what_cannot_be_is_told_and_changes_nothing(
    asking: Ask, db: Path, case: Refused
) -> None:
    with Store.open_readonly(db) as store:
        before = Held.of(store)
        headers = dict(case.headers)
        body = None
        if case.sent is not None:
            body = urlencode(case.sent).encode()
            headers |= {"content_type": FORM, "accept": "text/html"}
        answer = await asking(case.method, case.target, told=case.told, body=body, **headers)
        assert Held.of(store) == before
    assert answer.status == case.status, answer.body
    if case.sent is None or case.status == 403:
        assert answer.json["error"]
        assert answer.json["field"] == case.name
    else:
        shown = answer.body.decode()
        place = f'id="{case.form}-{case.name}-error"' if case.name else ""
        assert re.search(f'<p [^>]*{place}[^>]*role="alert"[^>]*>[^<]+<', shown), shown


async def test_every_form_is_among_them(tmp_path: Path) -> None:
    make_collection(tmp_path / "x.db")
    async with Answers(tmp_path / "x.db") as answers:
        app = application(answers, AnsweringTerms(answers.db), None)
    paths = {
        route.path
        for route in app.routes
        if isinstance(route, Route) and "POST" in (route.methods or ())
    }
    forms = {one.path.replace(f"/{PAGE}", "/{page_id:number}") for one in FORMS}
    assert {path for path in paths if not path.startswith("/api/")} == forms


async def test_forms_of_a_collection_say_that_it_is_none_of_theirs(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    make_collection(db)
    async with Answers(db) as answers:
        asking = patient(application(answers, AnsweringTerms(db), None))
        with Store.open_readonly(db) as store:
            before = Held.of(store)
            for one in FORMS:
                whole = {**one.fields, **{f"was.{name}": now for name, now in one.was.items()}}
                headers = {"content_type": FORM, "accept": "text/html"}
                body = urlencode(whole).encode()
                answer = await asking("POST", one.path, body=body, **headers)
                assert 400 <= answer.status < 500, (one, answer.body)
                assert re.search('<p [^>]*role="alert"[^>]*>[^<]+<', answer.body.decode()), one
            assert Held.of(store) == before
