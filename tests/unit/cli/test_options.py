"""The names that options take are those of the parts that use them."""

from collections.abc import Iterator

import click
from typer.main import get_command

from pollwise.cli.options import (
    FetchingOptions,
    ObjectiveName,
    OrderName,
    PolitenessName,
    token_place_told,
)
from pollwise.cli.program import app
from pollwise.fetch_settings import POLITENESS
from pollwise.insight.page_list import Order
from pollwise.objectives import OBJECTIVES


def test_the_names_of_options_are_those_of_their_parts():
    assert set(ObjectiveName) == set(OBJECTIVES)
    assert list(OrderName) == [order.value for order in Order]
    assert tuple(PolitenessName) == POLITENESS


def commands(group: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    for inner, command in getattr(group, "commands", {}).items():
        yield f"{name} {inner}", command
        yield from commands(command, f"{name} {inner}")


def test_options_that_may_be_given_several_times_say_so():
    silent = [
        f"{name} {option.opts[0]}"
        for name, command in commands(get_command(app))
        for option in command.params
        if option.param_type_name == "option"
        and option.multiple
        and "give several" not in (option.help or "")
    ]
    assert silent == []


def test_the_home_of_nobody_is_left_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    beside = f"{tmp_path}/~no-such-user/file"
    assert FetchingOptions(header_file="~no-such-user/file").told()["header_file"] == beside
    assert token_place_told("file:~no-such-user/file") == f"file:{beside}"
