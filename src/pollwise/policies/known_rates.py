"""The change rates that a policy is given instead of learning them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError

__all__ = ["known_rates"]


def known_rates(
    policy: str, rates: Mapping[int, float], page_ids: Sequence[int]
) -> NDArray[np.float64]:
    """The rates (changes per second) of these pages, checked; `policy` names who was given them.

    `InputError` where there is none, or one that is negative or not finite.
    """
    missing = [page_id for page_id in page_ids if page_id not in rates]
    if missing:
        raise InputError(
            f"{policy}: no change rate given for page {missing[0]}; pass one for every page"
        )
    known = np.array([rates[page_id] for page_id in page_ids], np.float64)
    wrong = np.flatnonzero(~(np.isfinite(known) & (known >= 0)))
    if wrong.size:
        raise InputError(
            f"{policy}: rates[{page_ids[wrong[0]]}] = {known[wrong[0]]} must be a finite number"
            " of at least 0 (changes per second)"
        )
    return known
