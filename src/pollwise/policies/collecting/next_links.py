"""The links that a robot would most like to follow next, for people to look at."""

import numpy as np

from pollwise.policies.collecting.known_web import FRINGE, KnownWeb
from pollwise.types import LikelyLink

__all__ = ["likely_links"]


def likely_links(known: KnownWeb, count: int) -> list[LikelyLink]:
    """The pages of the fringe with the highest values, best first; takes time with the pages."""
    pages = known.web.pages
    fringe = np.flatnonzero((pages["where"] == FRINGE) & np.isfinite(pages["value"]))
    values = pages["value"][fringe]
    if len(fringe) > count:
        best = np.argpartition(-values, count - 1)[:count]
        fringe, values = fringe[best], values[best]
    order = np.argsort(-values, kind="stable")
    texts = [known.anchor_text(int(pages["last_link"][page_id])) for page_id in fringe[order]]
    told = np.clip(values[order], 0.0, 1.0).tolist()  # an estimate may be beyond that
    rows = zip(fringe[order].tolist(), told, texts, strict=True)
    return [LikelyLink(*row) for row in rows]
