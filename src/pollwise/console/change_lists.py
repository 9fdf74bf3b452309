"""What people see of `pollwise changes`, `pollwise history` and `pollwise diff`."""

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from pollwise.console.changes import coloured_lines, print_change
from pollwise.console.quantities import count, storage
from pollwise.console.streams import stderr, stdout
from pollwise.console.tables import folded, moment
from pollwise.insight.changes import (
    Changes,
    History,
    HistoryEntry,
    ListedChange,
    ListedVersion,
    VersionDiff,
    happened,
)
from pollwise.insight.difference import Difference
from pollwise.insight.word_diff import BlockDiff, Edit
from pollwise.insight.words import in_time
from pollwise.texts import printable
from pollwise.units import WEEK

__all__ = ["print_changes", "print_diff", "print_history"]

_SIGNS = {Edit.SAME: " ", Edit.REMOVED: "-", Edit.ADDED: "+"}
_STYLES = {Edit.SAME: "", Edit.REMOVED: "red", Edit.ADDED: "green"}
_STRUCK = {Edit.SAME: "", Edit.REMOVED: "red strike", Edit.ADDED: "green"}
"""Of words within a line."""
_FURTHER = 4 * WEEK
_NARROW = 60
"""Columns of a terminal below which sizes leave no room for what changed."""


def print_changes(answer: Changes, now: float, *, unread: bool = False) -> None:
    """The answer of `pollwise changes` at this time (UTC seconds): the newest change last.

    `unread`: only those were asked for.
    """
    console, notes = stdout(), stderr()
    if answer.left_out:
        notes.print(
            f"{count(answer.left_out, 'earlier change')} not shown: --limit shows more",
            soft_wrap=True,
        )
    for change in answer.changes:
        found = Difference(
            change.called, change.removed, change.added, change.items, change.further
        )
        print_change(console, change.seen_at, change.url, found, _changed(change))
    if not answer.changes:
        more = ": --since 4w looks further back" if answer.since > now - _FURTHER else ""
        all_kept = unread and answer.since <= 0
        since = "" if all_kept else f" since {moment(answer.since)} (UTC){more}"
        notes.print(f"no {'unread ' if unread else ''}changes{since}", soft_wrap=True)


def print_history(answer: History) -> None:
    """The answer of `pollwise history`: the newest version last."""
    console = stdout()
    kept = f"{count(answer.versions, 'version')} kept"
    removed = "" if answer.watched else ", watched no more"
    console.print(f"{answer.url}: {kept}{removed}", soft_wrap=True)
    if answer.left_out:
        earlier = f"{answer.left_out:,} earlier one{'s' if answer.left_out > 1 else ''}"
        console.print(f"{earlier} not shown: --limit shows more", soft_wrap=True)
    if not answer.entries:
        return
    is_narrow = console.is_terminal and console.width < _NARROW
    sizes = [] if is_narrow else ["size"]
    table = Table("version", Column("seen (UTC)", no_wrap=not is_narrow), *sizes, folded("what"))
    for entry in answer.entries:
        brought = entry.kind is None or entry.kind.is_of_content
        size = ("not kept" if brought else "-") if entry.bytes is None else storage(entry.bytes)
        table.add_row(
            "-" if entry.version is None else str(entry.version),
            moment(entry.seen_at),
            *([] if is_narrow else [size]),
            _what(entry),
        )
    console.print(table)


def print_diff(answer: VersionDiff) -> None:
    """The answer of `pollwise diff`: words in colours on a terminal, else lines as of `diff -u`."""
    console = stdout()
    by_words = console.is_terminal and console.color_system is not None and not console.no_color
    _print(console, f"--- {_named(answer.url, answer.before)}", "bold red")
    _print(console, f"+++ {_named(answer.url, answer.after)}", "bold green")
    for hunk in answer.hunks:
        _print(console, f"@@ -{hunk.before_block} +{hunk.after_block} @@", "cyan")
        for block in hunk.blocks:
            if block.kind is not Edit.CHANGED:
                line = f"{_SIGNS[block.kind]}{block.words[0].text if block.words else ''}"
                _print(console, line, _STYLES[block.kind])
            elif by_words:
                words = (Text(some.text, _STRUCK[some.kind]) for some in block.words)
                console.print(Text("~") + Text(" ").join(words), soft_wrap=True)
            else:
                for kind in (Edit.REMOVED, Edit.ADDED):
                    _print(console, _SIGNS[kind] + _side(block, kind), _STYLES[kind])
    if answer.before.version == answer.after.version:
        stderr().print(f"both are version {answer.after.version}")
    elif not answer.hunks:
        stderr().print("what counts of them is the same, or is no text", soft_wrap=True)
    if answer.gone_at is not None:
        stderr().print(
            f"the page has been gone since {moment(answer.gone_at)} (UTC)", soft_wrap=True
        )


def _print(console: Console, line: str, style: str) -> None:
    console.print(Text(line, style), soft_wrap=True)


def _side(block: BlockDiff, kind: Edit) -> str:
    """A block as it was, or as it became."""
    return " ".join(some.text for some in block.words if some.kind in (Edit.SAME, kind))


def _named(url: str, version: ListedVersion) -> str:
    return f"{url}  version {version.version}  {moment(version.seen_at)}"


def _what(entry: HistoryEntry) -> Text:
    title = f": {printable(entry.title)}" if entry.title else ""
    head = "first copy" if entry.first_copy else _changed(entry)
    return Text("\n").join([Text(head + title), *coloured_lines(entry)])


def _changed(change: ListedChange | HistoryEntry) -> str:
    """What happened, and when: after the poll before, that is."""
    what = happened(change.kind, change.status) + (" back" if change.reverted else "")
    if change.before_at is not None:
        what = in_time(what, change.seen_at - change.before_at)
    return f"{what}; no notice: no condition is met" if change.held_back else what
