"""Finds the experiments by their names.

To add one, put an `Experiment` under its name into the `EXPERIMENTS` of its paper, in `papers/`.
"""

from collections.abc import Mapping
from importlib import import_module

from pollwise.errors import InputError
from pollwise.experiments.experiment import Experiment

__all__ = ["experiment_named", "experiments"]

_PAPERS = ("lakg", "htraa", "gpoks", "ephemeral", "robot")
"""The names of experiments begin with these."""


def _of(paper: str) -> Mapping[str, Experiment]:
    """A paper's experiments by name; its module is loaded only now."""
    module = import_module(f"pollwise.experiments.papers.{paper}")
    of_paper: Mapping[str, Experiment] = module.EXPERIMENTS
    return of_paper


def experiments() -> dict[str, Experiment]:
    """All experiments by name, paper by paper."""
    return {name: each for paper in _PAPERS for name, each in _of(paper).items()}


def experiment_named(name: str) -> Experiment:
    """The experiment of this name; `InputError` lists the names if there is none."""
    paper = name.partition("-")[0]
    experiment = _of(paper).get(name) if paper in _PAPERS else None
    if experiment is None:
        raise InputError(f"no such experiment: {name!r}; choose one of {', '.join(experiments())}")
    return experiment
