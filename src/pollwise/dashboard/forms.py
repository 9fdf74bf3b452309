"""Forms: what people send is read field by field, and what cannot be used is told at its field.

A view makes a `Form` of its fields and of what they hold now, has it `take` what was sent, asks for
what is wanted, and answers with `done`, or with itself: the form has what was typed, the errors and
the status of the answer.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.deeds import Deeds, code_of, told_of
from pollwise.errors import InputError, StoreError
from pollwise.live.requests import Effect
from pollwise.live.requests import Request as LiveRequest

__all__ = ["Field", "Form", "Sent", "as_text", "done", "read_form", "told"]

_MOST_FIELDS = 2_000
_MEDIA_TYPE = "application/x-www-form-urlencoded"
_WAS = "was."
"""What stands before the names of the fields that say what a form was made from."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The names and values of the fields that were sent, in their order."""

    pairs: Sequence[tuple[str, str]] = ()

    def first(self, name: str) -> str:
        """The first value of a name; empty: there is none."""
        return next((value for key, value in self.pairs if key == name), "")


def as_text(text: str) -> str:
    """Reads a field that is just text."""
    return text


@dataclass(frozen=True, slots=True)
class Field:
    """A field: `read` makes a value of its text, `InputError` for text that cannot be used.

    It has at most `longest` characters, one line of them unless it has `lines`. One that may be
    sent `several` times, such as boxes to tick, is a tuple. A text that pages have, not users, may
    have `any_character`.
    """

    read: Callable[[str], Any] = as_text
    longest: int = 1_000
    lines: bool = False
    several: bool = False
    any_character: bool = False


class Form:
    """A form called `name`, with these fields.

    `present` is what fields hold now, of those that change something that is there. `typed` is what
    the fields show, `values` what was made of it, `changed` are the fields to do something about.
    `errors` has a line for each field that cannot be used; that of the name "" is about the form as
    a whole. `status` is that of an answer that shows this form.
    """

    def __init__(
        self, name: str, fields: Mapping[str, Field], present: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self._fields = fields
        self.present = dict(present or {})
        self.typed = {field: self.present.get(field, "") for field in fields}
        self.chosen: dict[str, tuple[str, ...]] = {
            field: () for field, how in fields.items() if how.several
        }
        self.values: dict[str, Any] = {}
        self.changed: frozenset[str] = frozenset()
        self.errors: dict[str, str] = {}
        self.status = 200

    def take(self, sent: Sent) -> bool:
        """Read what was sent; whether all of it can be used.

        Of a field with a present value only what the user changed counts, and nothing if it was not
        sent. If somebody else has changed it meanwhile, that is an error with the status 409.
        """
        told: dict[str, list[str]] = {}
        for name, value in sent.pairs:
            told.setdefault(name, []).append(value.replace("\r\n", "\n").replace("\r", "\n"))
        known = {*self._fields, *(_WAS + name for name in self.present)}
        for name in told.keys() - known:
            self.refuse("", f"this form has no field {name[:40]!r}: load the page anew")
        for name, field in self._fields.items():
            if name in told or name not in self.present:
                self._read(name, field, told.get(name, []))
        changed = {name for name in self._fields if name not in self.present}
        for name, now in self.present.items():
            if name not in told:
                continue
            texts = told.get(_WAS + name, [""])
            if len(texts) > 1:
                self.refuse(name, "sent more than once: load the page anew")
            elif self.typed[name] != texts[0]:
                changed.add(name)
                if now not in (texts[0], self.typed[name]):
                    line = f"somebody changed it meanwhile, to {_quoted(now)}: send it again"
                    self.refuse(name, f"{line} if yours is to hold", 409)
        self.changed = frozenset(changed)
        return not self.errors

    def refuse(self, name: str, line: str, status: int = 400) -> None:
        """Tell an error at a field, or of the form as a whole (""); the first one counts."""
        field = name if name in self._fields else ""
        self.errors.setdefault(field, line)
        self.status = max(self.status, status)

    async def ask(self, answers: Answers, request: LiveRequest, field: str = "") -> Effect | None:
        """Have a request carried out; None: it was not, as the `field` now says."""
        try:
            return await answers.ask(request)
        except InputError as error:
            self.refuse(field, str(error), 409)
        except StoreError as error:
            self.refuse("", str(error), 503)
        return None

    def _read(self, name: str, field: Field, texts: list[str]) -> None:
        if field.several:
            self.chosen[name] = tuple(texts)
        elif len(texts) > 1:
            self.typed[name] = texts[0][: field.longest]
            self.refuse(name, "sent more than once: load the page anew")
            return
        else:
            self.typed[name] = texts[0] if texts else ""
        try:
            values = [_value(text, field) for text in texts or ([] if field.several else [""])]
        except InputError as error:
            self.refuse(name, str(error))
        else:
            self.values[name] = tuple(values) if field.several else values[0]


async def read_form(request: Request) -> Sent:
    """The fields that were sent. `HTTPException`: 400, 413 and 415 for what is no form."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _MEDIA_TYPE:
        raise HTTPException(415, f"send a form, as {_MEDIA_TYPE}")
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise HTTPException(413, "the form is too long, or did not come whole") from error
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError as error:
        line = f"that is no form: expected at most {_MOST_FIELDS:,d} fields of UTF-8 text"
        raise HTTPException(400, line) from error
    return Sent(tuple(pairs))


def done(path: str, deeds: Deeds, **query: str | int | None) -> Response:
    """Go on to a page that says what was done."""
    asked = {name: value for name, value in query.items() if value not in (None, "")}
    if code := code_of(deeds):
        asked["done"] = code
    return RedirectResponse(f"{path}?{urlencode(asked)}" if asked else path, 303)


def told(request: Request, first_copies: str = "") -> str:
    """What was done, as the address says; empty: nothing. `first_copies`: see `told_of`."""
    return told_of(request.query_params.get("done", ""), first_copies)


def _value(text: str, field: Field) -> Any:
    """What is made of a text; `InputError` if it cannot be used."""
    if len(text) > field.longest:
        raise InputError(
            f"{len(text):,d} characters are too many: expected at most {field.longest:,d}"
        )
    allowed = "\n\t" if field.lines else ""
    bad = next((one for one in text if not (one.isprintable() or one in allowed)), None)
    if bad is not None and not field.any_character:
        name = unicodedata.name(bad, f"U+{ord(bad):04X}").lower()
        raise InputError(f"a character that cannot be shown ({name}): leave it out")
    return field.read(text)


def _quoted(text: str) -> str:
    return repr(text[:80]) if text else "nothing"
