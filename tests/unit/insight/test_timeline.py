"""The time line of a page: polls, changes and versions."""

import time

import pytest
from tests.unit.insight.a_watch import DAY, POLLS, URLS, make_watch

from pollwise.errors import InputError
from pollwise.insight.timeline import timeline_of
from pollwise.store import Store


def test_a_page_that_changes(tmp_path):
    now = time.time()
    make_watch(tmp_path / "x.db", now)
    with Store.open_readonly(tmp_path / "x.db") as store:
        line = timeline_of(store, URLS[0])
        other = timeline_of(store, URLS[4])
        with pytest.raises(InputError, match="not watched"):
            timeline_of(store, "http://c.example/")
    assert (len(line.polls), len(line.changes), len(line.versions)) == (POLLS, POLLS - 1, POLLS)
    assert (line.polls[0].first_copy, line.polls[1].first_copy) == (True, False)
    assert line.begin == line.first_seen_at == line.polls[0].polled_at
    assert line.end == line.polls[-1].polled_at == pytest.approx(now - DAY / 2)
    assert [change.version for change in line.changes] == list(range(2, POLLS + 1))
    assert line.changes[0].before_at == line.begin
    assert line.left_out == 0
    assert (other.polls, other.begin, other.end, other.first_seen_at) == ((), None, None, None)
