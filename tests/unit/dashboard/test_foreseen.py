"""When a forecast is outgrown: once enough is known at all, and when twice as much is."""

import pytest

from pollwise.dashboard.foreseen import foreseen, is_outgrown
from pollwise.insight.evidence import Evidence
from pollwise.insight.snapshot import read_snapshot


@pytest.mark.parametrize(
    ("before", "now", "is_so"),
    [
        ((39, 40), (40, 40), True),
        ((20, 40), (39, 40), False),
        ((0, 40), (0, 40), False),
        ((40, 40), (79, 40), False),
        ((40, 40), (80, 40), True),
        ((500, 40), (30, 40), False),  # pages were removed
    ],
)
def test_a_forecast_is_outgrown(db, before, now, is_so):
    first, second = read_snapshot(db), read_snapshot(db)
    first.known.__dict__["evidence"] = Evidence(*before)
    second.known.__dict__["evidence"] = Evidence(*now)
    assert is_outgrown(foreseen(first), second) is is_so


def test_what_was_never_watched_has_none(collection_db):
    snapshot = read_snapshot(collection_db)
    assert foreseen(snapshot) is None
    assert not is_outgrown(None, snapshot)
