"""Write the pages of the reference that say what the code says, from the code itself.

    python tools/make_reference.py

They are commands.md, policies.md, names.md and pollwise.schema.json in docs/reference, and the
manual page of the command. Run it after every change of an option, a policy or a public name;
`tests/docs/test_reference.py` fails until then.
"""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import GenericAlias, UnionType
from typing import Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

import pollwise
from pollwise.cli.program import app
from pollwise.configuration import configuration_schema
from pollwise.policies.catalogue import COLLECTING, WATCHING, Catalogue

ROOT = Path(__file__).parents[1]

_MADE = "<!-- Made by `python tools/make_reference.py`. Edit the code, not this page. -->\n"
_KINDS = {"str": "TEXT", "path": "FILE", "float": "NUMBER", "int": "N"}
_TOLD_DEFAULT = re.compile(r" Default: (.+)\.$")
_TOLD = {"rates": "all change rates", "relevance": "the relevance of all pages"}
"""Arguments that tell a policy what nobody knows on the live web."""


def program() -> TyperGroup:
    """The program with all its commands."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


def pages() -> dict[str, str]:
    """The text of each page by its place in the repository."""
    return {
        "docs/reference/commands.md": commands_page(program()),
        "docs/reference/policies.md": policies_page(),
        "docs/reference/names.md": names_page(),
        "docs/reference/pollwise.schema.json": json.dumps(configuration_schema(), indent=2) + "\n",
        "packaging/pollwise.1": manual_page(program()),
    }


def commands_page(group: TyperGroup) -> str:
    """Every command with its arguments and options."""
    parts = [
        f"{_MADE}# Commands\n",
        "Every command with everything that it can be told. [Conventions](conventions.md) has lists"
        " of pages,\nbudgets, exit statuses and environment variables,"
        " [JSON answers](../answers.md) what `--json` prints.\n",
        "`pollwise --version` prints the version, `pollwise COMMAND --help` (or `-h`) what stands"
        " here.\n",
    ]
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand)
        parts += [f"## {name}\n", *_command(name, command)]
    return "\n".join(parts)


def _command(name: str, command: TyperCommand) -> Iterator[str]:
    context = typer.Context(command)
    options = [each for each in command.params if each.param_type_name == "option"]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = [_argument(each) for each in arguments]
    yield f"```text\n{' '.join(['pollwise', name, *usage, '[OPTIONS]'])}\n```\n"
    yield inspect.cleandoc(command.help or "") + "\n"
    if arguments:
        rows = [(f"`{_argument(each)}`", _meaning(each)) for each in arguments]
        yield _table(("argument", "meaning"), rows)
    if options:
        rows = [(_option(each, context), _default(each), _meaning(each)) for each in options]
        yield _table(("option", "default", "meaning"), rows)


def _argument(parameter: Any) -> str:
    name = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any, context: typer.Context) -> str:
    names = "/".join([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return f"`{names}`"
    return f"`{names} {parameter.metavar or _kind(parameter.make_metavar(context))}`"


def _kind(shown: str) -> str:
    """What a value is, in a word for people; choices as they are."""
    shown = re.sub(r"^list\[(.*)\]$", r"\1", shown.strip("<>")).removesuffix(" range")
    return _KINDS.get(shown, shown)


def _default(parameter: Any) -> str:
    """What holds if nothing is said; that of a setting, which stays, is told by its help."""
    if told := _TOLD_DEFAULT.search(parameter.help or ""):
        return told[1]
    value = parameter.default
    if value is None or value == "" or value is False:
        return ""
    return f"{getattr(value, 'value', value)}"


def _meaning(parameter: Any) -> str:
    text = parameter.help or ""
    if parameter.param_type_name == "option":  # its default has a column of its own
        text = _TOLD_DEFAULT.sub("", text)
    marks = [_range(parameter)]
    marks += [f"or the environment variable `{parameter.envvar}`"] if parameter.envvar else []
    said = "; ".join(filter(None, marks))
    return f"{text} ({said})" if said else text


def _range(parameter: Any) -> str:
    low, high = (getattr(parameter.type, name, None) for name in ("min", "max"))
    if low is None:
        return ""
    return f"at least {low}" if high is None else f"{low} to {high}"


def manual_page(group: TyperGroup) -> str:
    """The same in the language of `man`."""
    parts = [
        '.\\" Made by `python tools/make_reference.py`. Edit the code, not this page.',
        f'.TH POLLWISE 1 "" "pollwise {pollwise.__version__}"',
        ".SH NAME",
        r"pollwise \- decides which web page to fetch next under a fetch budget",
        ".SH SYNOPSIS",
        r".B pollwise",
        r".I COMMAND",
        r"[\fIARGUMENT\fR ...] [\fIOPTION\fR ...]",
        ".SH DESCRIPTION",
        _roff(group.help or ""),
        "An answer goes to standard output, progress and errors go to standard error.",
        ".SH COMMANDS",
    ]
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand)
        context = typer.Context(command)
        parts += [f".SS {name}", _roff(inspect.cleandoc(command.help or ""))]
        for each in command.params:
            is_option = each.param_type_name == "option"
            shown = _option(each, context) if is_option else f"`{_argument(each)}`"
            default = _default(each) if is_option else ""
            told = f" Default: {default}." if default else ""
            parts += [".TP", rf"\fB{_roff(shown.strip('`'))}\fR", _roff(_meaning(each) + told)]
    statuses = ["0: done.", "1: an error of its own.", "2: an input that cannot be used."]
    statuses += ["130: interrupted.", "141: nobody reads the answer any more."]
    parts += [".SH EXIT STATUS", *statuses]
    return "\n".join(parts) + "\n"


def _roff(text: str) -> str:
    """Text as roff reads it: one line for each, none of which begins a request."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    lines = (line if line[:1] not in (".", "'") else rf"\&{line}" for line in escaped.split("\n"))
    return "\n".join(line or ".PP" for line in lines)


def policies_page() -> str:
    """Every policy that a command can name, with its options."""
    return "\n".join(
        [
            f"{_MADE}# Policies\n",
            "`simulate` and `replay` take them by `--policy NAME`, with options as in"
            " `--policy lakg:resolution=2500,exponent=1.3`,\nand"
            " [one of your own](../library.md#a-policy-of-your-own) as `--policy MODULE:CLASS`.\n"
            "`watch` and `collect` always use the"
            " default. Below the tables stands what each class says in Python,\nwith what its"
            " options mean. Options without a value are set by the run, and so is the resolution of"
            "\n`lakg` and `gpoks` for many pages.\n",
            "## That poll given pages\n",
            *_policies(WATCHING),
            "## That discover pages\n",
            "For `simulate --world graph`. `fixed-shares` is `robot` with half of the requests for"
            " new pages and half for\nheld ones.\n",
            *_policies(COLLECTING),
        ]
    )


def options_of(kind: type, catalogue: Catalogue[Any, Any], name: str) -> dict[str, Any]:
    """The options of a policy with their defaults; `inspect.Parameter.empty`: by the setting."""
    parameters = inspect.signature(kind).parameters
    return {each: parameters[each].default for each in catalogue.choose(name).known_options}


def _policies(catalogue: Catalogue[Any, Any]) -> Iterator[str]:
    by_class: dict[type, list[str]] = {}
    for name in catalogue.names:
        by_class.setdefault(catalogue.choose(name).kind, []).append(name)
    rows = []
    for kind, names in by_class.items():
        options = options_of(kind, catalogue, names[0])
        told = [text for each, text in _TOLD.items() if catalogue.choose(names[0]).takes(each)]
        rows.append(
            (
                ", ".join(f"[`{name}`](#{_slug(kind)})" for name in names)
                + (" (default)" if names[0] == catalogue.default else ""),
                ", ".join(_with_default(*option) for option in options.items()),
                "".join(told),
            )
        )
    yield _table(("name", "options", "is told"), rows)
    for kind in by_class:
        yield f"### {kind.__name__}\n"
        yield _prose(inspect.getdoc(kind) or "") + "\n"


def _slug(kind: type) -> str:
    return kind.__name__.lower()


def _with_default(name: str, default: Any) -> str:
    if default is inspect.Parameter.empty:
        return f"`{name}`"
    shown = f"{default:.10g}" if isinstance(default, float) else default
    return f"`{name}={shown}`"


def _prose(text: str) -> str:
    """A docstring without its examples; its tables stay as they are written."""
    text = text.partition(">>>")[0].strip()
    blocks = re.split(r"\n{2,}", text)
    return "\n\n".join(f"```text\n{each}\n```" if each[:2] == "==" else each for each in blocks)


def names_page() -> str:
    """Every public name of the package."""
    rows = []
    for name in pollwise.__all__:
        value = getattr(pollwise, name)
        rows.append((f"`{name}`", f"`{pollwise._HOMES[name]}`", _first_sentence(name, value)))
    return "\n".join(
        [
            f"{_MADE}# Names in Python\n",
            "All of `dir(pollwise)`: `from pollwise import NAME`. `help(NAME)` has arguments, units"
            " and errors.\n",
            _table(("name", "where it is written", "what it is"), rows),
        ]
    )


def _first_sentence(name: str, value: Any) -> str:
    if name == "__version__":
        return "The version of the package."
    if isinstance(value, UnionType):
        return "Any of " + ", ".join(f"`{each.__name__}`" for each in get_args(value)) + "."
    if isinstance(value, GenericAlias):
        return "What a policy learned: arrays by name."
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in lines)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def main() -> None:
    """Write the pages."""
    for place, text in pages().items():
        (ROOT / place).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
