"""What each kind of evidence is worth, learned as the crawl goes on: a linear regression.

What a fetch leads to (`pollwise.policies.collecting.returns`) is taken to be a weighted sum of what
was known of the page before (`pollwise.policies.collecting.evidence`). The weights are those of
greatest posterior probability under a normal prior around the weights of the beginning, which is
ridge regression towards them (A. E. Hoerl, R. W. Kennard, Technometrics 12, 1970). So a kind of
evidence that tells nothing on this web, or of this topic, fades, and one that tells much gains.
"""

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.collecting.evidence import (
    ANCHOR_WORDS,
    BEST_LINK_WORD,
    BEST_NEAR,
    DIRECTORY,
    HUB,
    LINEAR,
    LINK_WORDS,
    LINKING,
    LINKING_MEAN,
    LINKING_SHARES,
    MATCH,
    N_EVIDENCE,
    NEAR,
    URL_WORDS,
)

__all__ = ["FIRST_WEIGHTS", "Weights"]

Rows = NDArray[np.float32]
Floats = NDArray[np.float64]

_FIRST = {
    DIRECTORY: 0.25,
    LINKING: 0.5,
    LINKING_MEAN: 0.1,
    LINKING_SHARES: 0.1,
    HUB: 0.1,
    BEST_NEAR: 0.2,
    NEAR: 0.15,
    URL_WORDS: 0.1,
    ANCHOR_WORDS: 0.1,
    LINEAR: 0.1,
    BEST_LINK_WORD: 0.2,
    LINK_WORDS: 0.2,
    MATCH: 0.3,
}
FIRST_WEIGHTS = np.array([_FIRST.get(kind, 0.0) for kind in range(N_EVIDENCE)])
"""The weights before anything was learned: set by trial on topics of a graph of encyclopaedia
articles and of one of software documentation.
"""
_PRECISIONS = np.where(np.arange(N_EVIDENCE) < MATCH, 1.0, 6.0)
"""The fetches with a full measure of a kind of evidence that its first weight counts for: more for
the matches with the topic, which somebody told.
"""


class Weights:
    """The moments of the evidence of all fetched pages, which are told in their order."""

    def __init__(self) -> None:
        self._moments = np.diag(_PRECISIONS)
        self._count = 0

    def fitted(self, rows: Rows, returns: Floats, others: Rows, weight_of_others: float) -> Floats:
        """The weights by the evidence (`rows`) of the pages fetched so far, and what these led to.

        The rows that were given before must come first again; their returns may be others now.
        `others` are rows of pages that count as if they had led to nothing, and all together as
        `weight_of_others` fetches, but for this call only.

        >>> row = np.zeros((1, N_EVIDENCE), np.float32)
        >>> row[0, 0] = 1.0
        >>> weights = Weights().fitted(row, np.ones(1), row[:0], 0.0)
        >>> round(float(weights[0]), 3)  # one part of .25 and one of 1
        0.625
        """
        new = rows[self._count :].astype(np.float64)
        self._moments += new.T @ new
        self._count = len(rows)
        each = min(weight_of_others / max(len(others), 1), 1.0)
        beside = others.astype(np.float64)
        moments = self._moments + each * beside.T @ beside
        told = _PRECISIONS * FIRST_WEIGHTS + rows.T @ returns.astype(np.float32)
        return np.asarray(np.linalg.solve(moments, told), np.float64)
