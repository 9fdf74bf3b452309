"""Options that several commands share, and what they mean."""

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pollwise.errors import InputError

DB = Path("pollwise.db")


class ObjectiveName(StrEnum):
    """What a poll is worth."""

    detection = "detection"
    freshness = "freshness"
    delay = "delay"
    age = "age"
    ephemeral = "ephemeral"


class RevertsName(StrEnum):
    """What changes back to an earlier version count for."""

    counted = "count"
    ignored = "ignore"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Db = Annotated[Path, typer.Option("--db", help="The database file.")]
AllowPrivateOption = Annotated[
    bool | None,
    typer.Option(
        "--allow-private/--no-allow-private",
        help="Redirects and links may lead to private addresses; else only URLs that you give.",
    ),
]
ObjectiveOption = Annotated[ObjectiveName, typer.Option(help="What a poll is worth.")]
HalfLifeOption = Annotated[
    float | None,
    typer.Option(help="Hours in which an item loses half its value (objective ephemeral)."),
]
KeepOption = Annotated[
    str | None,
    typer.Option(
        metavar="N|AGE|all",
        help="Versions to keep: the newest N of each page, or those of an AGE such as 90d."
        " Default: all.",
    ),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="A policy by name, perhaps with options (lakg:resolution=2500,exponent=1.3); give"
        " several to compare.",
    ),
]


def parameters_of(objective: ObjectiveName, half_life: float | None) -> dict[str, float]:
    """The parameters of an objective, as `pollwise.objectives.objective` takes them."""
    if objective is not ObjectiveName.ephemeral:
        if half_life is not None:
            raise InputError(
                f"--half-life {half_life} is for --objective ephemeral, not {objective}:"
                " leave it out"
            )
        return {}
    if half_life is None or not 0 < half_life < math.inf:
        raise InputError(
            "--objective ephemeral needs --half-life, a number of hours above 0, such as 6"
        )
    return {"decay": math.log(2) / (half_life * 3600.0)}


def objective_told(objective: ObjectiveName | None, half_life: float | None) -> dict[str, Any]:
    """The settings that `--objective` and `--half-life` name; neither was given: none."""
    if objective is None and half_life is None:
        return {}
    named = ObjectiveName.ephemeral if objective is None else objective
    return {"objective": named.value, "parameters": parameters_of(named, half_life)}
