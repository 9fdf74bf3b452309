"""`pollwise import`: pages and past checks of another program, into a database."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pollwise.errors import InputError, StoreInUseError
from pollwise.importing.imported import Imported
from pollwise.importing.recognising import read_file
from pollwise.insight.learned import learned_by
from pollwise.insight.words import count
from pollwise.live.control import ask, require_watch, watch_settings
from pollwise.live.opening import opened
from pollwise.live.requests import AddPages
from pollwise.store import Place, Store
from pollwise.store.records import NewPage, PollResult
from pollwise.types import Observation, Page, PageMemory
from pollwise.web.rendering.browser import require_renderable

__all__ = ["ImportReport", "import_file"]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What came of an import.

    `origin` names the kind of file. `pages` were in it, of which `new` were not watched before.
    `checks` of `taught` pages were made before; `left_out` says in words what was not taken over.
    `running`: a watch runs, and has taken them.
    """

    origin: str
    pages: int
    new: int
    checks: int
    taught: int
    left_out: tuple[str, ...]
    running: bool = False


def import_file(
    file: Path, db: Place, tags: tuple[str, ...] = (), *, say: Callable[[str], None]
) -> ImportReport:
    """Watch the pages of a file from another program, with these tags besides their own.

    Pages that are watched already take over what the file says of them. Of pages that were never
    polled, past checks teach the change rates; not while a watch runs, which is an error then.
    Without a browser no page is rendered, which is said.
    `say`: see `Session`. `InputError` for a file that cannot be read, `StoreError` as for a watch;
    nothing is kept then.
    """
    read = _renderable(read_file(file))
    if not read.pages:
        why = f", such as {read.left_out[0]}" if read.left_out else ""
        raise InputError(f"{file}: there is no page in it that can be watched{why}")
    wanted = tuple(
        replace(new, tags=tuple(dict.fromkeys((*(new.tags or ()), *tags))) or None)
        for new in read.pages
    )
    try:
        with opened(db, say) as store, store.together():
            require_watch(store)
            return _imported(store, read, wanted, say)
    except StoreInUseError:
        if read.checks:
            raise
    effect = ask(db, AddPages(wanted), make=False, say=say)
    pages = len({page.url for page in wanted})
    return ImportReport(read.origin, pages, len(effect.added), 0, 0, read.left_out, running=True)


def _renderable(read: Imported) -> Imported:
    try:
        require_renderable(read.pages)
    except InputError as error:
        rendered = sum(page.render is True for page in read.pages)
        lost = f"{count(rendered, 'page')} not rendered: {error}; then import the file again"
        pages = tuple(replace(page, render=None) for page in read.pages)
        return replace(read, pages=pages, left_out=(*read.left_out, lost))
    return read


def _imported(
    store: Store, read: Imported, wanted: Sequence[NewPage], say: Callable[[str], None]
) -> ImportReport:
    now = time.time()
    polls = {record.page.url: record.polls for record in store.pages()}
    pages = {page.url: page for page in store.add_pages(wanted, now)}
    if not store.runs():  # so that status, plan and explain know how it will be watched
        store.change_settings(watch_settings(store).recorded())
    history = _history(read, pages, {url for url, made in polls.items() if made}, now)
    checks = sum(map(len, history.values()))
    if history:
        say(f"learning from {count(checks, 'check')} of {count(len(history), 'page')}")
        _teach(store, history)
    left_out = read.left_out
    if untaught := sum(map(bool, read.checks.values())) - len(history):
        why = "polled before, or checked in the future"
        left_out += (f"the past checks of {count(untaught, 'page')}: {why}",)
    new = len(pages.keys() - polls.keys())
    return ImportReport(read.origin, len(pages), new, checks, len(history), left_out)


def _history(
    read: Imported, pages: dict[str, Page], polled: set[str], now: float
) -> dict[Page, list[Observation]]:
    """The past checks of the pages that were never polled, but for those after now."""
    told = {}
    for url, checks in read.checks.items():
        past = [replace(c, page_id=pages[url].id) for c in checks if c.polled_at <= now]
        if past and url not in polled:
            told[pages[url]] = past
    return told


def _teach(store: Store, history: dict[Page, list[Observation]]) -> None:
    """Let the policy learn from past checks, and keep both."""
    records = store.pages()
    policy = watch_settings(store).policy(len(records))
    learned = learned_by(store, policy)
    policy.add([record.page for record in records if record.page not in history])
    if learned is not None:
        policy.load_state_dict(learned.state)
    begun = {page: checks[0].polled_at for page, checks in history.items()}
    policy.add([replace(page, seen_at=begun[page]) for page in history])
    policy.observe(_in_order(checks[1:] for checks in history.values()))
    # Rows of two versions could not be read together.
    is_current = learned is None or learned.is_stored
    store.import_checks(
        [PollResult(check, PageMemory()) for check in _in_order(history.values())],
        policy.state_dict([page.id for page in history] if is_current else None),
    )


def _in_order(histories: Iterable[list[Observation]]) -> list[Observation]:
    return sorted((one for checks in histories for one in checks), key=lambda one: one.polled_at)
