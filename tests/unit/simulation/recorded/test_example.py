"""The bundled time-lapse as a history."""

import math

from pollwise.simulation.recorded.example import example, history_of
from pollwise.testing.timelapse import Revision, TimeLapse


def test_pages_and_changes_are_those_of_the_time_lapse():
    timelapse = TimeLapse(
        {
            "b.example/x": [Revision(-5.0, ""), Revision(2.0, "1"), Revision(7.0, "2")],
            "a.example/y": [Revision(3.0, "born"), Revision(4.0, "1"), Revision(20.0, "later")],
        },
        start=0.0,
        end=10.0,
    )
    world = history_of(timelapse)
    world.reset(0)
    assert [(page.url, page.site) for page in world.pages] == [
        ("a.example/y", "a.example"),
        ("b.example/x", "b.example"),
    ]
    assert (world.begin, world.end) == (0.0, 10.0)
    assert world.changes.born.tolist() == [3.0, 0.0]
    assert [world.changes.of_page(page).tolist() for page in (0, 1)] == [[4.0], [2.0, 7.0]]
    assert all(page.seen_at is None for page in world.pages)
    assert [page.seen_at for page in world.with_copies().pages] == [3.0, 0.0]


def test_the_bundled_one():
    world = example()
    world.reset(0)
    timelapse = TimeLapse.bundled()
    assert [page.url for page in world.pages] == list(timelapse.page_names)
    assert len(world.changes.times) == 1390
    assert not math.isinf(world.end)
    assert len({page.site for page in world.pages}) == 12
