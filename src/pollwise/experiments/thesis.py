"""What the tables of Glimsdal's thesis have in common: three worlds, and the learners."""

from pollwise.experiments.learners import BAYES_INDEX
from pollwise.experiments.scenario import Learner, World

__all__ = [
    "AUTOMATA",
    "BANDITS",
    "BASELINE",
    "CHIEF",
    "FASTER",
    "GPOKS",
    "LEARNERS",
    "PARTS",
    "PLAINER",
    "VARIANTS",
    "three_worlds",
]

FASTER = (
    "GPOKS converges significantly faster than LAKG, and outperforms LAKG and H-TRAA under a wide"
    " variety of parameter settings."
)
PARTS = FASTER + " Here: whether it needs optimism and monotony for that."
BASELINE = FASTER + " Here: against bandits that learn of each mixture by itself."

VARIANTS = tuple(
    Learner(name, name)
    for name in (
        "gpoks",
        "gpoks-ots",
        "gpoks-mono",
        "gpoks-ts",
        "gpoks-gpr",
        "gpoks-ucb",
        "gpoks-ips",
        "gpoks-ips-ots",
    )
)
BANDITS = tuple(Learner(name, name) for name in ("ucb1", "ucb1-raw", "ts", "gp-ucb"))
AUTOMATA = ("lakg", "htraa")
GPOKS = VARIANTS[0]
PLAINER = ("gpoks-ts", "gpoks-gpr", "gpoks-ips")
"""Variants with neither optimism nor monotony."""
_AUTOMATA = (
    Learner("lakg", "lakg", {"resolution": 100, "exponent": 1.3}),
    Learner("htraa", "htraa", {"resolution": 110}),
)
_ESTIMATOR = Learner("estimator", "estimator", {"phase_polls": 100})

CHIEF = (*_AUTOMATA, _ESTIMATOR, GPOKS, BAYES_INDEX)
"""The learners of which the thesis says which is best, the estimator, and ours."""
LEARNERS = (*_AUTOMATA, _ESTIMATOR, *VARIANTS, BAYES_INDEX)
"""The same with all variants of GPOKS."""


def three_worlds(pages: int, *, noise: float = 0.0, polling: bool = False) -> tuple[World, ...]:
    """Pages by rank in the three settings of α/β."""
    return tuple(
        World(pages=pages, alpha=alpha, beta=beta, noise=noise, polling=polling)
        for alpha, beta in ((0.3, 1.0), (0.6, 1.0), (0.9, 1.5))
    )
