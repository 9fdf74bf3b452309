"""The program: its commands in the order of its help, and how it ends."""

import errno
import io
import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from pollwise.cli.answers import notify
from pollwise.cli.collecting import collect, export, search, serve
from pollwise.cli.simulating import simulate
from pollwise.cli.studying import demo, replay, reproduce
from pollwise.cli.watching import check, explain, plan, status, unmask, watch
from pollwise.errors import PollwiseError
from pollwise.version import __version__

app = typer.Typer(
    help="Decides which web page to fetch next under a fetch budget, and learns it online.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)

_COMMANDS = (
    demo,
    watch,
    collect,
    status,
    explain,
    check,
    unmask,
    plan,
    search,
    serve,
    export,
    simulate,
    replay,
    reproduce,
)
for _command in _COMMANDS:
    app.command()(_command)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"pollwise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take what is said before the command."""


def main() -> None:
    """Run the command line; unusable input ends it with one line and status 2."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us: nobody looks
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks is shown as an escape.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        exit_status = app(prog_name="pollwise", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        sys.exit(_complain(_usage(error)))
    except PollwiseError as error:
        sys.exit(_complain(str(error)))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:  # the reader has ended, as `head` does
        _drop_output()
        sys.exit(1)
    except MemoryError:
        sys.exit(_complain("this machine has too little free memory for that"))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        sys.exit(_complain("the answer cannot be written, the disk is full: free some space"))
    sys.exit(exit_status if isinstance(exit_status, int) else 0)


def _drop_output() -> None:
    """Drop what is still buffered, which would fail once more at exit."""
    from pollwise.console.streams import drop_stdout

    drop_stdout()


def _complain(message: str) -> int:
    if message:
        notify(message)
    return 2


def _usage(error: TyperException) -> str:
    """What is wrong with the arguments, in one line; empty if the help was shown instead."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    if not message or context is None:
        return message
    return f"{message}; '{context.command_path} --help' shows what can be given"
