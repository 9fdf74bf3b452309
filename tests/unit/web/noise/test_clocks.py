"""Clocks that are too slow for a look, and updates that look like them."""

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pollwise.types import Outcome, PageMemory
from pollwise.web.change import compare
from pollwise.web.noise.clocks import POLLS, find_clocks
from pollwise.web.noise.looks import Copy, is_due, judged_again

HOUR = 3600.0
BEGIN = 1_700_000_000.0


def polls(seed: int, gap: float = HOUR) -> list[float]:
    generator = random.Random(seed)
    times = [BEGIN]
    while len(times) < POLLS:
        times.append(times[-1] + gap * generator.uniform(1, 3))
    return times


def page(text: str) -> list[str]:
    return ["Home", "News", text, "Imprint"]


def masks_of(texts: list[str], times: list[float]):
    return find_clocks([page(text) for text in texts], times)


def moment(time: float) -> datetime:
    return datetime.fromtimestamp(time, timezone(timedelta(hours=5, minutes=30)))


@pytest.mark.parametrize(
    "form",
    ["It is %H:%M now", "%d.%m.%Y, %H:%M", "%I:%M %p", "%Y-%m-%dT%H:%M:00+05:30", "%H:%M:%S"],
)
@pytest.mark.parametrize("behind", [0.0, 250.0])
def test_a_clock_keeps_step_with_the_polls(form, behind):
    """Even in a cache, which makes it late by chance."""
    for seed in range(10):
        generator, times = random.Random(seed), polls(seed)
        shown = [moment(at - generator.uniform(0, behind)).strftime(form) for at in times]
        [mask] = masks_of(shown, times)
        assert mask.before == ("Home", "News")
        assert mask.shape


def test_so_do_seconds_since_1970():
    times = polls(1)
    assert masks_of([f'"at": {at:.0f},' for at in times], times)
    assert masks_of([f'"at": {at * 1000:.0f},' for at in times], times)


@pytest.mark.parametrize("form", ["Updated at %H:%M", "%Y-%m-%dT%H:%M:%SZ"])
def test_the_times_of_updates_do_not(form):
    hidden = 0
    for seed in range(300):
        generator, times = random.Random(seed), polls(seed)
        shown = [
            datetime.fromtimestamp(at - generator.uniform(0, HOUR), UTC).strftime(form)
            for at in times
        ]
        hidden += len(masks_of(shown, times))
    assert hidden <= 1


@pytest.mark.parametrize(
    "texts",
    [
        [f"Version 1.{n}" for n in range(POLLS)],
        [f"{n} visitors" for n in range(POLLS)],
        [f"On {n + 1} May" for n in range(POLLS)],
        ["12:00"] * (POLLS - 1) + ["no time"],
    ],
)
def test_other_numbers_do_not(texts):
    assert masks_of(texts, polls(1)) == ()


def test_too_little_is_known():
    times = [BEGIN + 300.0 * n for n in range(POLLS)]
    texts = [moment(at).strftime("%H:%M") for at in times]
    assert masks_of(texts, times) == ()
    assert masks_of(texts[1:], polls(1)[1:]) == ()
    pages = [[text] for text in texts]
    assert find_clocks(pages, polls(1)) == ()  # nothing would be left


def test_polls_lead_to_the_mask_and_count_no_change_from_then_on():
    memory, copies, masked = PageMemory(), [], []
    outcomes = []
    for n in range(40):
        at = BEGIN + n * HOUR + 7 * n
        news = n // 30
        body = f"<p>Home<p>{moment(at).strftime('It is %H:%M')}<p>News {news}".encode()
        compared = compare(memory, body, "text/html")
        if is_due(compared):
            compared = judged_again(memory, compared, [body], "text/html", copies, at)
        memory = compared.memory
        masked += compared.masked
        outcomes.append(Outcome.CHANGED if compared.changed else Outcome.UNCHANGED)
        if compared.changed:
            copies.insert(0, Copy(at, body, "text/html"))
    assert len(masked) == 1
    begin = outcomes.index(Outcome.UNCHANGED)
    assert begin <= 8
    assert [n for n, what in enumerate(outcomes) if what is Outcome.CHANGED][begin:] == [30]
