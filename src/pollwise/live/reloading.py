"""SIGHUP: what a configuration says anew is taken in while a watch runs, as far as that goes."""

from collections.abc import Callable, Mapping
from typing import Any

from pollwise.errors import InputError, StoreError
from pollwise.live.control import Carried, carry_out
from pollwise.live.requests import ChangeSettings
from pollwise.live.service_manager import service_manager
from pollwise.store import Store

__all__ = ["ReadAgain", "Reloading"]

ReadAgain = Callable[[], Mapping[str, Any]]
"""Gives what a run is told, by names that people know; `InputError` if that cannot be used."""
_AT_ONCE = ("budget", "shares", "keep", "quiet")
"""What needs no restart; pages and lists of pages are followed anyway."""


class Reloading:
    """Takes in what is told otherwise than before, when `ask` was called.

    `read` gives what the watch is told; None: there is no configuration. `say` is told what
    became of it. What nobody told anew stays, such as a budget that was changed by a request.
    """

    def __init__(self, read: ReadAgain | None, say: Callable[[str], None]) -> None:
        self._read = read
        self._say = say
        self._told = {} if read is None else read()
        self._is_asked = False

    def ask(self) -> None:
        """Have the configuration read soon."""
        self._is_asked = True
        service_manager().reloading()

    def carry_out(self, store: Store, now: float) -> list[Carried]:
        """Read it if that was asked for, and carry out what can be."""
        if not self._is_asked:
            return []
        # Before it is read: whoever asks meanwhile wants it read once more.
        self._is_asked = False
        try:
            done = self._carried_out(store, now)
        except StoreError:  # such as a locked database: all of it is tried again
            self._is_asked = True
            raise
        service_manager().ready()
        return done

    def _carried_out(self, store: Store, now: float) -> list[Carried]:
        if self._read is None:
            self._say("there is no configuration to read anew; lists of pages are followed anyway")
            return []
        try:
            told = self._read()
        except InputError as error:
            self._say(f"{error}; all goes on as before")
            return []
        names = sorted(name for name in {*told, *self._told} if self._is_other(name, told))
        anew = {name: told[name] for name in names if name in _AT_ONCE and name in told}
        done = [carry_out(store, ChangeSettings(**anew), now)] if anew else []
        if later := [name.replace("_", "-") for name in names if name not in anew]:
            self._say(f"the configuration was read anew; {', '.join(later)}: only after a restart")
        elif not anew:
            self._say("the configuration was read anew: all is as it was")
        # What waits for a restart is told once.
        self._told = told
        return done

    def _is_other(self, name: str, told: Mapping[str, Any]) -> bool:
        return bool(told.get(name) != self._told.get(name))
