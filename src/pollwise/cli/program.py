"""The program: its commands in the order of its help, and how it ends."""

import atexit
import contextlib
import errno
import gc
import io
import os
import re
import select
import sys
from collections.abc import Callable
from itertools import pairwise
from signal import SIGPIPE
from typing import Annotated, Any, TextIO

import typer
from typer.exceptions import TyperException

from pollwise.cli.answers import notify
from pollwise.cli.changes import changes, diff, history
from pollwise.cli.collecting import backup, collect, export, search
from pollwise.cli.configuring import check_config
from pollwise.cli.control import (
    add,
    budget,
    list_pages,
    mask,
    pause,
    remove,
    resume,
    set_wishes,
    signal,
    unmask,
)
from pollwise.cli.frontier import frontier
from pollwise.cli.importing import import_pages
from pollwise.cli.inspecting import check, explain, plan, shards, status
from pollwise.cli.notices import notify as notify_receiver
from pollwise.cli.serving import serve
from pollwise.cli.simulating import simulate
from pollwise.cli.studying import demo, replay, reproduce
from pollwise.cli.watching import watch
from pollwise.errors import InputError, PollwiseError
from pollwise.full_disk import FULL_DISK
from pollwise.version import __version__

app = typer.Typer(
    help="Decides which web page to fetch next under a fetch budget, and learns it online.",
    add_completion=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # to load it takes three times as long as all the rest
)

_COMMANDS: dict[Callable[..., object], str] = {
    demo: "Watch a year of real pages, offline, next to other schedules.",
    watch: "Watch pages and feeds until stopped, and tell what changes.",
    collect: "Build and keep up a collection of pages about a topic.",
    serve: "Watch or collect, with a dashboard and an API.",
    frontier: "Serve URLs to crawlers over gRPC (URLFrontier).",
    add: "Watch more pages, also while a watch runs.",
    remove: "Watch pages no longer, also while a watch runs.",
    pause: "Do not poll pages until they are resumed.",
    resume: "Poll pages again that were paused.",
    set_wishes: "Change weight, bounds, tags or parts of pages.",
    budget: "Show the budget, or change it for good.",
    signal: "Say that pages have changed.",
    list_pages: "The pages that are watched, and how they stand.",
    status: "What is watched and what was found.",
    changes: "What changed lately.",
    history: "The versions and changes of a page.",
    diff: "What differs between two versions of a page.",
    notify_receiver: "Send a receiver of notices one, to try it.",
    explain: "What is known of a page, and why it is polled next or not.",
    check: "What a poll sees of a page, and what of it is noise.",
    check_config: "Whether a configuration can be used, and what is in it.",
    mask: "Let a part of a page count for no change.",
    unmask: "Let parts of a page count that were masked as noise.",
    plan: "What a smaller or a larger budget would bring.",
    search: "Find pages of a collection by their words.",
    import_pages: "Take over pages and past checks from other programs.",
    export: "Write the pages into a file for other programs.",
    shards: "Split a PostgreSQL database, and who polls what of it.",
    backup: "Copy the whole database, also while it is written to.",
    simulate: "Compare policies in simulated worlds.",
    replay: "Compare policies on a recorded history of real changes.",
    reproduce: "Run the experiment behind a published table or figure.",
}
"""The commands, each with what it is for: up to 60 characters, or the list of commands cuts it."""
_NAMES: dict[Callable[..., object], str] = {
    set_wishes: "set",
    list_pages: "list",
    import_pages: "import",
    notify_receiver: "notify",
}
"""Commands that are not named as their functions."""
_NUMBER = re.compile(r"is not a valid (int|float)(?: range)?\b")
_NUMBERS = {"int": "whole number", "float": "number"}
_MOST_OTHERS = 3
"""Commands that are named as having an option."""
_LONG_WORD = re.compile(r"\S{2049,}")
"""Longer than URLs usually are."""
_TOO_FEW_FILES = "the limit on open files is too low for that: raise it (see `ulimit -n`)"
_TOO_LITTLE_MEMORY = "this machine has too little free memory for that"
_UNMAPPED = "failed to map segment from shared object"
"""What the dynamic loader says of a library, such as that of LLVM, for which there is none."""
_READER_HAS_GONE = 128 + SIGPIPE
"""As of other tools, which the signal ends; `head` leaves them so."""
_LAST_STREAM = 2
"""The number of the standard error."""
_ALLOCATIONS = 100_000
"""So many more objects than before, and garbage is searched for: Python's own 700 are few. Polls of
a turn take tens of thousands, which are gone when it is committed."""
for _command, _purpose in _COMMANDS.items():
    app.command(_NAMES.get(_command), short_help=_purpose)(_command)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"pollwise {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take what is said before the command."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)


def run() -> None:
    """Run the command line; unusable input ends it with one line and status 2."""
    _fill_closed_streams()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us: nobody looks
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks is shown as an escape.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if (stream := sys.__stderr__) is not None and stream is sys.stderr:
        sys.stderr = _that_drops(stream)
    # Most of what is loaded or read stays: to search it for garbage all the time is of no use.
    gc.set_threshold(_ALLOCATIONS)
    # At the end all of it goes: to search it once more takes a quarter of the time of `status`.
    atexit.register(gc.freeze)
    lost = _lost_interrupts()
    try:
        _require_one_database(sys.argv[1:])
        exit_status = app(prog_name="pollwise", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        sys.exit(_complain(_usage(error)))
    except PollwiseError as error:
        sys.exit(_complain(str(error)))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:
        if not _is_unread():
            raise
        _drop_output()
        sys.exit(_READER_HAS_GONE)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):  # of which typer and rich make it
            raise
        _drop_output()
        sys.exit(_READER_HAS_GONE)
    except MemoryError:
        sys.exit(_complain(_TOO_LITTLE_MEMORY))
    except PermissionError as error:
        if error.filename is None:
            raise
        mend = "check the permissions of the file and its folders, or name another one"
        sys.exit(_complain(f"{error.filename} cannot be used ({error.strerror}): {mend}"))
    except FileNotFoundError:
        if not _folder_is_gone():
            raise
        sys.exit(_complain("the folder in which this was called is gone: change into another one"))
    except OSError as error:
        if _UNMAPPED in f"{error} {error.__context__}":
            sys.exit(_complain(_TOO_LITTLE_MEMORY))
        if error.errno in (errno.EMFILE, errno.ENFILE):
            sys.exit(_complain(_TOO_FEW_FILES))
        if error.errno not in FULL_DISK:
            raise
        _drop_output()
        sys.exit(_complain(f"standard output cannot be written: {error.strerror}; free some space"))
    except Exception as error:
        if not (lost or _is_of_an_interrupt(error)):
            raise
        sys.exit(130)
    sys.exit(exit_status if isinstance(exit_status, int) else 0)


def _is_unread() -> bool:
    """Whether the reader of the standard output or error has gone: other pipes can break, too."""
    streams = select.poll()
    for number in (1, _LAST_STREAM):
        streams.register(number, 0)
    return bool(streams.poll(0))


def _folder_is_gone() -> bool:
    """Whether the working folder was removed, beside which relative paths are."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _fill_closed_streams() -> None:
    """Open nothing in the place of standard streams that whoever started us has closed.

    Else the next socket or file gets the number of one, which in a child is that of the stream.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _LAST_STREAM:
        pass
    os.close(opened)


class _DropsWithoutRoom(io.FileIO):
    """A file that drops what finds no room on its disk."""

    def write(self, data: Any) -> int:
        """Write all of it: a signal may end a write to a slow reader early."""
        left = memoryview(data)
        try:
            while left and (written := super().write(left)):
                left = left[written:]
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
        return len(data)


def _that_drops(stream: TextIO) -> TextIO:
    """The standard error, which ends no command as the disk of its file is full.

    Notices are lost then; the exit status tells what became of the work.
    """
    file = _DropsWithoutRoom(stream.fileno(), "w", closefd=False)
    # Nothing is held back, which would fail once more at exit where the reader has gone.
    return io.TextIOWrapper(file, stream.encoding, stream.errors, write_through=True)


def _is_of_an_interrupt(error: BaseException) -> bool:
    """Whether Python has made this error of a Ctrl-C, as it does where a class is being made."""
    return isinstance(error.__cause__, KeyboardInterrupt)


def _lost_interrupts() -> list[object]:
    """A list to which each Ctrl-C is added that falls into Python code called by C.

    Such code is called when LLVM has made machine code. What is raised in it goes no further, and
    what it was to do is missing later, which looks like an error of ours.
    """
    lost: list[object] = []
    others = sys.unraisablehook

    def note(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            lost.append(what.exc_type)
        else:
            others(what)

    sys.unraisablehook = note
    return lost


def _require_one_database(words: list[str]) -> None:
    """`InputError` if several databases are named, of which all but the last would be ignored."""
    options = words[: words.index("--")] if "--" in words else words
    named = [word.partition("=")[2] for word in options if word.startswith("--db=")]
    named += [after for word, after in pairwise(options) if word == "--db"]
    if len(named) > 1:
        raise InputError(
            f"--db names {len(named)} databases, and a process uses one: start another process for"
            " each of the others"
        )


def _drop_output() -> None:
    """Drop what is still buffered, which would fail once more at exit."""
    from pollwise.console.streams import drop_stdout

    drop_stdout()


def _complain(message: str) -> int:
    """Say what is wrong, if somebody still reads that; the exit status."""
    if message:
        if _LONG_WORD.search(message):
            from pollwise.web.urls import shown

            message = _LONG_WORD.sub(lambda word: shown(word[0]), message)
        with contextlib.suppress(SystemExit):  # rich makes it of a closed pipe
            notify(message)
    return 2


def _usage(error: TyperException) -> str:
    """What is wrong with the arguments, in one line; empty if the help was shown instead."""
    message = " ".join(error.format_message().split()).rstrip(".")
    message = _NUMBER.sub(lambda kind: f"is no {_NUMBERS[kind[1]]}", message)
    context = getattr(error, "ctx", None)
    if not message or context is None:
        return message
    option = getattr(error, "option_name", "")
    if context.info_name == "serve" and option in _only_of_watch(context):
        return (
            f"serve has no {option}: 'pollwise watch' has it, and what it was told once stays; or"
            " give a configuration by --config"
        )
    if context.parent is None and option in _of_commands(context):
        return f"{option} goes behind the name of a command: pollwise COMMAND {option}"
    joint = "" if message.endswith("?") else ";"
    if (others := _others_with(context, option)) and len(others) <= _MOST_OTHERS:
        from pollwise.texts import listed

        named = listed([f"'pollwise {name}'" for name in others])
        return f"{message}{joint} {named} {'has' if len(others) == 1 else 'have'} it"
    return f"{message}{joint} '{context.command_path} --help' shows what can be given"


def _of_commands(context: Any) -> set[str]:
    """The options of the commands of the program, which has this context."""
    commands = context.command.commands.values()
    return {name for command in commands for option in command.params for name in option.opts}


def _others_with(context: Any, option: str) -> list[str]:
    """The commands that have an option which the command of a context has not."""
    if context.parent is None:
        return []
    commands = context.parent.command.commands.items()
    having = [
        (name, command)
        for name, command in commands
        if any(option in each.opts for each in command.params)
    ]
    is_own = any(command is context.command for _, command in having)
    return [] if is_own else [name for name, _ in having]


def _only_of_watch(context: Any) -> set[str]:
    """The options that `watch` has, and the command of a context has not."""
    watch_itself = context.parent.command.commands["watch"]
    known, own = (
        {name for option in command.params for name in option.opts}
        for command in (watch_itself, context.command)
    )
    return known - own
