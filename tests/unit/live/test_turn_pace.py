"""How often the loop of a run turns."""

import pytest

from pollwise.live.turn_pace import TurnPace


@pytest.mark.parametrize(("polls", "longest"), [(0, 0.05), (3, 0.05), (4, 0.35), (16, 0.45)])
def test_turns_that_could_not_wait_put_the_next_one_off_no_longer_than_that(
    polls: int, longest: float
) -> None:
    pace = TurnPace()
    for _ in range(100):
        pace.turned(polls, 50.0)
    assert pace.next_at == pytest.approx(50.0 + longest)


@pytest.mark.parametrize(("polls", "at_once"), [(1, 10), (4, 5), (16, 3)])
def test_a_few_turns_come_at_once_the_fewer_the_more_polls_end_in_them(
    polls: int, at_once: int
) -> None:
    pace, turns = TurnPace(), 0
    while pace.next_at <= 50.0:
        pace.turned(polls, 50.0)
        turns += 1
    assert turns == at_once
