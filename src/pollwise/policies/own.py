"""Policies of a user's own, by the names of their modules and classes.

>>> choose("bayes-index:revert_worth=0.5").name
'bayes-index'
>>> choose("pollwise.policies.deadline.fixed:Fixed:interval=60").own.__name__
'Fixed'
"""

import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pollwise.checks import missing_members, shown_text
from pollwise.errors import InputError, PollwiseError
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Choice, PolicyChoice, Setting, read_options

__all__ = ["OwnChoice", "choose", "own_failures_told"]

_TEXT = re.compile(r"(?P<module>[^:=]+):(?P<name>[^\W\d]\w*)(?::(?P<options>.*))?")
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_TOLD: Mapping[str, Callable[[Setting], Any]] = {
    "objective": lambda setting: setting.objective,
    "budget": lambda setting: setting.budget,
    "pages": lambda setting: setting.pages,
    "rates": lambda setting: setting.rates,
    "seed": lambda setting: setting.seed,
    "generator": lambda setting: setting.generator,
}
"""The arguments that a class is given if it takes them."""
_NO_ENTRY: tuple[str, Callable[[Setting], dict[str, Any]]] = ("", lambda setting: {})


@dataclass(frozen=True, slots=True)
class OwnChoice(Choice[Setting, Policy]):
    """A policy of the user's own, of the class `own`."""

    own: type[Policy]

    @property
    def kind(self) -> type[Policy]:
        """See `Choice.kind`."""
        return self.own

    def make(self, setting: Setting) -> Policy:
        """See `Choice.make`; `InputError` if the class takes other arguments, or is no policy."""
        told = {name: give(setting) for name, give in _TOLD.items() if self.takes(name)}
        told |= self.options
        try:
            inspect.signature(self.own).bind(**told)
        except TypeError as error:
            raise InputError(
                f"policy {self.text!r}: {error}; it is given those of {', '.join(_TOLD)} that it"
                " takes, and the options of MODULE:CLASS:OPTION=VALUE"
            ) from error
        made = self.own(**told)
        if missing := missing_members(made, Policy):
            raise InputError(
                f"{self.name} is no policy: it lacks {', '.join(missing)}; see pollwise.Policy"
            )
        return made


def choose(text: str) -> PolicyChoice:
    """A policy of the catalogue by its name, or one of the user's own as MODULE:CLASS.

    Both perhaps with options after a colon. A module is also looked for in the current folder.
    `InputError` for a name that no policy has, a module that is not there or cannot be imported,
    and a class that is not in it.
    """
    found = _TEXT.fullmatch(text)
    if found is None or found["module"] in WATCHING.names:
        return WATCHING.choose(text)
    module, name, options = found["module"], found["name"], found["options"]
    kind = _class_of(text, module, name)
    return OwnChoice(text, f"{module}:{name}", read_options(text, options), _NO_ENTRY, kind)


@contextmanager
def own_failures_told(choices: Sequence[PolicyChoice]) -> Iterator[None]:
    """A context in which what goes wrong in policies of the user's own is an `InputError`."""
    try:
        yield
    except PollwiseError:
        raise
    except Exception as error:
        own = [choice for choice in choices if isinstance(choice, OwnChoice)]
        for choice in own:
            if place := _place_of(error, inspect.getsourcefile(choice.own)):
                raise InputError(f"{choice.name} failed in {place}: {_said(error)}") from error
        if not own or isinstance(error, OSError | MemoryError):
            raise
        names = " or ".join(choice.name for choice in own)
        raise InputError(f"what {names} gave cannot be used: {_said(error)}") from error


def _class_of(text: str, module: str, name: str) -> type[Policy]:
    if not _MODULE.fullmatch(module) or module.endswith(".py"):
        raise InputError(
            f"policy {text!r}: {module!r} is no module; write MODULE:CLASS, where MODULE is a file"
            " in this folder without its .py, or what Python can import"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        spec = find_spec(module)
    except ImportError:  # what it should be in is not there, or no package
        spec = None
    if spec is None:
        raise InputError(
            f"policy {text!r}: there is no module {module}; call this in the folder of its file,"
            f" or choose one of {', '.join(WATCHING.names)}"
        )
    try:
        there = vars(import_module(module))
    except Exception as error:
        place = _place_of(error, spec.origin) or spec.origin
        raise InputError(f"policy {text!r}: {place}: {_said(error)}") from error
    kind = there.get(name)
    if not isinstance(kind, type):
        classes = [key for key, one in there.items() if isinstance(one, type)]
        own = [key for key in classes if there[key].__module__ == module]
        has = f"its classes are {', '.join(own)}" if own else "it has no class"
        raise InputError(f"policy {text!r}: {module} has no class {name}; {has}")
    return kind


def _place_of(error: BaseException, file: str | None) -> str:
    """The last line of this file that led to an error; empty: none did."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return f"{Path(file).name}, line {lines[-1]}" if file is not None and lines else ""


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {shown_text(str(error))}"
