"""Glimsdal 2013, a thesis: GPOKS (`docs/reproduction.md` has it in full)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pollwise.experiments.experiment import Experiment
from pollwise.experiments.judging import leads_the_table
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.run_time import as_plain_and_fast, run_time
from pollwise.experiments.scenario import BAYES_INDEX, ConfiguredPolicy, Environment

__all__ = ["EXPERIMENTS"]

_SOURCE = "Glimsdal 2013"
_FASTER = (
    "GPOKS converges significantly faster than LAKG, and outperforms LAKG and H-TRAA under a wide"
    " variety of parameter settings."
)

_VARIANTS = tuple(
    ConfiguredPolicy(f"gpoks{ending}", f"gpoks{ending}")
    for ending in ("", "-ots", "-mono", "-ts", "-gpr", "-ucb", "-ips", "-ips-ots")
)
_PLAINER = ("gpoks-ts", "gpoks-gpr", "gpoks-ips")
"""Variants with neither optimism nor monotony."""
_BANDITS = ("ucb1", "ucb1-raw", "ts", "gp-ucb")
_AUTOMATA = ("lakg", "htraa")
_OTHERS = (
    ConfiguredPolicy("lakg", "lakg", {"resolution": 100, "exponent": 1.3}),
    ConfiguredPolicy("htraa", "htraa", {"resolution": 110}),
    ConfiguredPolicy("estimator", "estimator", {"phase_polls": 100}),
)


class _Comparison(NamedTuple):
    """Who plays, whom GPOKS is to lead at the end, and what the thesis says of that."""

    learners: Sequence[ConfiguredPolicy]
    rivals: Sequence[str]
    claim: str


_ON_MIXTURES = _Comparison(
    (*(ConfiguredPolicy(name, name) for name in _BANDITS), _VARIANTS[0], BAYES_INDEX),
    rivals=_BANDITS,
    claim=_FASTER + " Here: against bandits that learn of each mixture by itself.",
)
_AMONG_VARIANTS = _Comparison(
    (*_VARIANTS, BAYES_INDEX),
    rivals=_PLAINER,
    claim=_FASTER + " Here: whether it needs optimism and monotony for that.",
)
_OF_CHIEF = _Comparison((*_OTHERS, _VARIANTS[0], BAYES_INDEX), _AUTOMATA, _FASTER)
"""Of the learners of which the thesis says which is best, the estimator, and ours."""
_OF_ALL = _Comparison((*_OTHERS, *_VARIANTS, BAYES_INDEX), _AUTOMATA, _FASTER)

_ALIKE_OR_NOT = tuple(Environment(pages=2, alpha=0.7, beta=beta) for beta in (0.0, 1.0, 2.0))
"""Two pages whose change probabilities are alike, or not."""


def _three(pages: int, *, noise: float = 0.0, polling: bool = False) -> tuple[Environment, ...]:
    """Pages by rank in the three settings of α/β."""
    return tuple(
        Environment(pages=pages, alpha=alpha, beta=beta, noise=noise, polling=polling)
        for alpha, beta in ((0.3, 1.0), (0.6, 1.0), (0.9, 1.5))
    )


def _table(
    number: str,
    title: str,
    environments: Sequence[Environment],
    comparison: _Comparison,
    *,
    published: Mapping[tuple[str, str], float] | None = None,
    remark: str = "",
) -> Experiment:
    """A table of rewards; the claim holds if GPOKS leads the rivals at the end."""
    play = RewardTable(environments=environments, learners=comparison.learners)
    return Experiment(
        title=title,
        source=f"{_SOURCE}, table {number}",
        claim=comparison.claim,
        trials=1000,
        play=play,
        published=published or {},
        verdict=leads_the_table("gpoks", comparison.rivals, play.last_columns),
        remark=remark,
    )


EXPERIMENTS = {
    "gpoks-table-8.1": Experiment(
        title="run time of FAST-GPOKS, 2 pages, and its difference from the plain regression",
        source=f"{_SOURCE}, table 8.1",
        claim="FAST gives the plain regression, at a cost that earlier steps do not raise.",
        trials=5,
        play=run_time,
        published={("gpoks", "seconds t=10000"): 240.0},
        verdict=as_plain_and_fast,
    ),
    "gpoks-table-8.2": _table("8.2", "bandits on mixtures, 2 pages", _three(2), _ON_MIXTURES),
    "gpoks-table-8.3": _table(
        "8.3",
        "bandits on mixtures, 2 pages, white noise σ = 0.1",
        _three(2, noise=0.1),
        _ON_MIXTURES,
    ),
    "gpoks-table-8.4": _table(
        "8.4",
        "bandits on mixtures, 2 pages, real web polling",
        _three(2, polling=True),
        _ON_MIXTURES,
    ),
    "gpoks-table-8.5": _table("8.5", "GPOKS variants, 2 pages", _three(2), _AMONG_VARIANTS),
    "gpoks-table-8.6": _table(
        "8.6",
        "GPOKS variants, 2 pages, white noise σ = 0.1",
        _three(2, noise=0.1),
        _AMONG_VARIANTS,
    ),
    "gpoks-table-8.7": _table(
        "8.7",
        "GPOKS variants, 2 pages, real web polling",
        _three(2, polling=True),
        _AMONG_VARIANTS,
    ),
    "gpoks-table-8.8": _table(
        "8.8",
        "the chief learners, 2 pages, α = 0.7",
        _ALIKE_OR_NOT,
        _OF_CHIEF,
        published={("lakg", f"{each.label} t=1000"): 709.8 for each in _ALIKE_OR_NOT},
        remark=(
            "The published row of LAKG is the same in all three environments, though the optimum"
            " ranges from 752 to 910: it cannot be right."
        ),
    ),
    "gpoks-table-8.9": _table("8.9", "the chief learners, 2 pages", _three(2), _OF_CHIEF),
    "gpoks-table-8.10": _table(
        "8.10",
        "all learners, 8 pages",
        _three(8),
        _OF_ALL,
        published={
            ("lakg", "0.3/1.0 t=1000"): 571.8,
            ("lakg", "0.6/1.0 t=1000"): 828.9,
            ("lakg", "0.9/1.5 t=1000"): 855.9,
            ("htraa", "0.3/1.0 t=1000"): 470.0,
            ("htraa", "0.6/1.0 t=1000"): 645.4,
            ("htraa", "0.9/1.5 t=1000"): 566.4,
        },
        remark=(
            "The published row of H-TRAA lies below the uniform policy, from which H-TRAA starts:"
            " it cannot be right. The thesis left gpoks and gpoks-mono out here."
        ),
    ),
    "gpoks-table-8.11": _table("8.11", "all learners, 64 pages", _three(64), _OF_ALL),
}
