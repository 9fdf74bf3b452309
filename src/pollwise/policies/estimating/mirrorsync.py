"""MirrorSync: poll rates learned by mirror descent, without any model of how pages change.

Every page is polled at intervals of 1/r. A time t after its poll it costs c(t), unknown and rising,
and so J(r) = r ∫ c(t) dt from 0 to 1/r on average. With probability ε a *probe* comes at a random
moment between two regular polls, and::

    g = (c(probe) - c(end))/(ε r), without a probe 0

has the mean J′(r). Here c is the weight of the page while its copy is stale. After every round the
pages with whole cycles in it get new rates r′. These minimise the learning rate η times g·r′ plus
the Bregman divergence of the log barrier, Σ (r′/r - 1 - ln(r′/r)), with an unchanged sum of rates:
1/r′ = 1/r + η g + μ, between bounds.

Source: A. Kolobov, S. Bubeck, J. Zimmert, "Online learning for active cache synchronization", ICML
2020: AsyncMirrorSync. Its published experiments with pages that change as Poisson processes have
ε = 0.05, bounds of 1/16 and 15 times the mean rate, rounds of 3.2 mean intervals, and η = 1.3 for
the gradient of the mean cost of 100 pages, which is 0.013 for that of each page.

Reconstructed: the time unit, in which a page is polled 0.4 times (the published figure for the
sum); that η does not fall with the number of pages; that a new page has the mean rate, and that the
sum of the rates follows the pages as they come and go; costs, which multiply μ. A poll finds the
changes since the poll before, also if that was a probe, so c at the end of a cycle comes from both.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import is_real, require, require_generator, require_positive
from pollwise.policies.deadline.adaptive import AdaptivePolicy
from pollwise.policies.estimating.mirrorsync_kernels import (
    MEAN_RATE,
    MIRROR_PAGE,
    MIRROR_SHARED,
    MirrorState,
)
from pollwise.types import Page

__all__ = ["MirrorSync"]


class MirrorSync(AdaptivePolicy):
    """Learns poll rates from probes between the regular polls, and no change rates.

    `generator` draws the probes; `probing` is the chance of one in a cycle, above 0 and at most 1,
    `step` the learning rate for each page. It never waits.

    >>> from pollwise.simulation.loop import simulate
    >>> from pollwise.simulation.worlds.zipf import Zipf
    >>> policy = MirrorSync(generator=np.random.default_rng(1))
    >>> polls = simulate(policy, Zipf(pages=5, alpha=0.5, beta=1.0), polls=20, seed=7)
    >>> polls.page_ids[:8]
    array([4, 1, 3, 0, 2, 4, 1, 3])
    """

    name = "mirrorsync"

    def __init__(
        self, *, generator: np.random.Generator, probing: float = 0.05, step: float = 0.013
    ) -> None:
        require_generator(self.name, generator)
        require_positive(self.name, "step", step)
        holds = is_real(probing) and 0.0 < probing <= 1.0
        require("mirrorsync: probing", probing, holds, "a probability above 0 and at most 1")
        shared = np.zeros(1, MIRROR_SHARED)
        shared["first_interval"] = (1.0 + probing) / MEAN_RATE
        shared["probing"] = probing
        shared["step"] = step
        self._generator = generator
        super().__init__(shared, MIRROR_PAGE)

    @property
    def state(self) -> MirrorState:
        """The whole state; see `CompiledPolicy`."""
        return MirrorState(self.deadlines, self._pages, self._shared, self._generator)

    def _new(self, pages: Sequence[Page]) -> NDArray[Any]:
        new = super()._new(pages)
        new["rate"] = 1.0 / self._shared["first_interval"]
        return new
