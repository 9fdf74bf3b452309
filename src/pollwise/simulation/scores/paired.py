"""Two policies on the same pages: the difference of their figures, and how sure it is."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.metrics import ratios

__all__ = ["INTERVALS", "paired_differences"]

Floats = NDArray[np.float64]

INTERVALS = (0.80, 0.95)

_RESAMPLES = 1000


def paired_differences(
    tallies: Sequence[Floats], generator: np.random.Generator
) -> list[dict[str, dict[str, float | tuple[float, float]]]]:
    """The figures of each tally after the first, minus those of the first.

    The rows of the tallies (`pollwise.metrics.tally`) are the same pages; for weighted figures the
    rows are weighted. By figure: `difference`, and `interval_80` and `interval_95` from a paired
    bootstrap over the pages, the same draw for all tallies (Efron and Tibshirani 1993, chapter 13:
    percentiles). So the intervals say what other pages of the same kind could have shown, not
    what another time could have.

    >>> one, other = np.ones((20, 9)), np.ones((20, 9))
    >>> other[:, 5] = 0.5  # half of the time fresh
    >>> [against] = paired_differences([one, other], np.random.default_rng(0))
    >>> against["freshness"]["difference"], against["freshness"]["interval_95"]
    (-0.5, (-0.5, -0.5))
    """
    tables = np.stack(tallies)
    pages = tables.shape[1]
    drawn = np.empty((_RESAMPLES, len(tallies), tables.shape[2]))
    for sums in drawn:
        times_drawn = np.bincount(generator.integers(pages, size=pages), minlength=pages)
        np.matmul(times_drawn.astype(np.float64), tables, out=sums)
    figures, resampled = ratios(tables.sum(axis=1)), ratios(drawn)
    results = []
    for other in range(1, len(tallies)):
        result: dict[str, dict[str, float | tuple[float, float]]] = {}
        for name, values in figures.items():
            spread = resampled[name][:, other] - resampled[name][:, 0]
            spread = spread[np.isfinite(spread)] if np.isfinite(spread).any() else spread
            result[name] = {"difference": float(values[other] - values[0])}
            for share in INTERVALS:
                low, high = np.quantile(spread, [(1 - share) / 2, (1 + share) / 2])
                result[name][f"interval_{share:.0%}".rstrip("%")] = (float(low), float(high))
        results.append(result)
    return results
