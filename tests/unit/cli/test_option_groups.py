"""A group of options is one parameter of the command, and stands for all of them."""

from typing import Annotated, NamedTuple

import typer
from typer.testing import CliRunner

from pollwise.cli.option_groups import names_of, with_groups


class Group(NamedTuple):
    first: Annotated[int, typer.Option(min=1, help="The first.")] = 1
    others: Annotated[list[str] | None, typer.Option("--other", help="Give several.")] = None


@with_groups
def command(
    name: Annotated[str, typer.Argument()] = "none",
    *,
    group: Group,
    last: Annotated[bool, typer.Option("--last")] = False,
) -> None:
    """What it does."""
    print(name, group, last)


app = typer.Typer(rich_markup_mode=None)
app.command()(command)


def answer(*words: str) -> str:
    return CliRunner().invoke(app, words).output


def test_the_command_gets_what_was_given_of_the_group():
    assert answer() == f"none {Group(others=answered_without())} False\n"
    told = answer("x", "--first", "2", "--other", "a", "--other", "b", "--last")
    assert told == f"x {Group(first=2, others=['a', 'b'])} True\n"


def test_code_calls_it_by_its_options(capsys):
    command("x", first=2)
    assert capsys.readouterr().out == f"x {Group(first=2)} False\n"


def answered_without() -> object:
    """What typer gives for an option that may be given several times, and was not."""
    got = []

    def plain(other: Annotated[list[str] | None, typer.Option()] = None) -> None:
        got.append(other)

    one = typer.Typer()
    one.command()(plain)
    CliRunner().invoke(one)
    return got[0]


def test_options_stand_where_the_group_does_and_are_checked():
    help_text = answer("--help")
    places = [help_text.index(option) for option in ("--first", "--other", "--last", "--help")]
    assert places == sorted(places)
    assert "What it does." in help_text
    assert "Invalid value for '--first': 0 is not in the range x>=1" in answer("--first", "0")


def test_the_names_of_a_group_are_those_of_its_fields():
    assert names_of(Group) == ("first", "others")
