"""Finds the experiments: every module of this package that has an `EXPERIMENT`."""

import re
from importlib import import_module
from pathlib import Path

from pollwise.errors import InputError
from pollwise.experiments.experiment import Experiment

__all__ = ["experiment_named", "experiment_names"]

_PAPERS = ("lakg", "htraa", "gpoks", "ephemeral", "robot")
_MODULE = re.compile(rf"({'|'.join(_PAPERS)})_(figure|table)_(\d+(?:_\d+)?)")


def _modules() -> dict[str, str]:
    """Modules by the names of their experiments: by paper, figures before tables, and number."""
    found = [_MODULE.fullmatch(path.stem) for path in Path(__file__).parent.glob("*.py")]
    keys = sorted(
        (_PAPERS.index(match[1]), match[2], [int(n) for n in match[3].split("_")], match[0])
        for match in found
        if match
    )
    return {_name(module): module for *_, module in keys}


def _name(module: str) -> str:
    """As people write it: gpoks_table_8_10 is gpoks-table-8.10."""
    paper, kind, number = module.split("_", 2)
    return f"{paper}-{kind}-{number.replace('_', '.')}"


def experiment_names() -> list[str]:
    """All names: by paper, figures before tables, and number."""
    return list(_modules())


def experiment_named(name: str) -> Experiment:
    """`InputError` lists the names if there is none of this one."""
    module = _modules().get(name)
    if module is None:
        raise InputError(
            f"no such experiment: {name!r}; choose one of {', '.join(experiment_names())}"
        )
    experiment: Experiment = import_module(f"pollwise.experiments.{module}").EXPERIMENT
    return experiment
