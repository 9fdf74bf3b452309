"""From how far a page is above the floor to the probability that it is about the topic."""

import math

__all__ = ["calibrated"]

# Fitted to the tuning half of the judged pages: `benchmarks/relevance.py --fit`. As the scores move
# what the filter learns, a fit beside these gives values a little different (0.40 and 1.27).
_SLOPE = 0.45
_INTERCEPT = 1.32


def calibrated(height: float) -> float:
    """The probability that a page is about the topic, if such pages were judged.

    `height` is the place of its cosine between floor (0) and top (1). Up to the floor the answer
    is 0, from the top on 1. Between them it is the sigmoid of Platt ("Probabilistic outputs for
    support vector machines", 1999), taken of the log-odds of the height, so that both ends stay.

    >>> [round(calibrated(height), 2) for height in (0.0, 0.1, 0.5, 1.0)]
    [0.0, 0.58, 0.79, 1.0]
    """
    if height <= 0:
        return 0.0
    if height >= 1:
        return 1.0
    log_odds = _SLOPE * (math.log(height) - math.log1p(-height)) + _INTERCEPT
    return 1 / (1 + math.exp(-log_odds))
