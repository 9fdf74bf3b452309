"""Masks that people set and end, by the store and by a loop that polls meanwhile."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pollwise.errors import InputError
from pollwise.insight.noise import masked_parts
from pollwise.live.control import carry_out
from pollwise.live.incoming import Incoming
from pollwise.live.loop import run
from pollwise.live.progress import Progress
from pollwise.live.requests import ChangePages, MaskPart, UnmaskPart
from pollwise.policies.deadline.uniform import Uniform
from pollwise.scheduler.scheduler import Scheduler
from pollwise.sources.reading import read
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, MaskState, Observation, Outcome, Page, PageMemory, Version
from pollwise.watched_pages import Watched
from pollwise.web.change import Comparison, compare
from pollwise.web.poll_reports import PollReport

URL = "http://a.example/"


def body(visitor: int, news: str = "News") -> bytes:
    return f"<title>t</title><p>Visitor <b>{visitor}</b><p>{news}<p>End".encode()


def seen(memory: PageMemory, content: bytes) -> Comparison:
    return compare(memory, read(content, "text/html"))


def poll(memory: PageMemory, content: bytes, at: float) -> PollResult:
    """A poll that finds this content."""
    compared = seen(memory, content)
    outcome = Outcome.CHANGED if compared.changed else Outcome.UNCHANGED
    version = Version(0, at, "text/html", content, compared.body_hash)
    observation = Observation(0, at, outcome)
    return PollResult(observation, compared.memory, version if compared.changed else None)


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    with Store.open(tmp_path / "pages.db") as store:
        store.add_pages([NewPage(URL)], 0.0)
        store.commit(Batch(polls=(poll(PageMemory(), body(1), 1.0),)))
        yield store


def memory_of(store: Store) -> PageMemory:
    return store.pages()[0].memory


def test_what_stands_at_a_masked_place_counts_no_more(store):
    done = carry_out(store, MaskPart(URL, "Visitor 1"), 2.0)
    assert done.effect.parts == ("Visitor 1",)
    memory = memory_of(store)
    [part] = masked_parts(memory.noise.masks)
    assert (part.number, part.whole, part.by_hand) == (1, True, True)
    for visitor in range(2, 20):  # it does not end though it is quiet
        compared = seen(memory, body(visitor // 10))
        assert not compared.changed
        memory = compared.memory
    assert [mask.state for mask in memory.noise.masks] == [MaskState.SET]
    assert seen(memory, body(3, "Other news")).changed


def test_a_part_is_unmasked_and_can_be_masked_again(store):
    carry_out(store, MaskPart(URL, "Visitor 1"), 2.0)
    with pytest.raises(InputError, match="another masked part 1 by now than 'Visitor 9'"):
        carry_out(store, UnmaskPart(URL, 1, "Visitor 9"), 3.0)
    carry_out(store, UnmaskPart(URL, 1, "Visitor 1"), 3.0)
    after = poll(memory_of(store), body(2), 4.0)
    assert after.observation.outcome is Outcome.UNCHANGED
    store.commit(Batch(polls=(after,)))
    with pytest.raises(InputError, match=f"nothing of {URL} is masked"):
        carry_out(store, UnmaskPart(URL), 5.0)
    changed = poll(memory_of(store), body(3), 6.0)
    assert changed.observation.outcome is Outcome.CHANGED
    store.commit(Batch(polls=(changed,)))
    carry_out(store, MaskPart(URL, "Visitor 3"), 7.0)
    assert not seen(memory_of(store), body(4)).changed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Visit", "has no part with the text 'Visit'.* --ignore SELECTOR"),
        ("", "has no part with the text ''"),
        ("t Visitor 1 News End", "it is all that the page says"),
    ],
)
def test_what_cannot_be_masked_changes_nothing(store, text, message):
    before = memory_of(store)
    with pytest.raises(InputError, match=message):
        carry_out(store, MaskPart(URL, text), 2.0)
    assert memory_of(store) == before


def test_what_is_masked_already_and_a_page_without_a_copy_are_refused(store):
    carry_out(store, MaskPart(URL, "Visitor 1"), 2.0)
    with pytest.raises(InputError, match="is masked already"):
        carry_out(store, MaskPart(URL, "Visitor 1 News"), 3.0)
    carry_out(store, ChangePages((NewPage(URL, select=("p",)),)), 4.0)
    with pytest.raises(InputError, match="no copy is kept"):
        carry_out(store, MaskPart(URL, "News"), 5.0)


def test_of_a_copy_that_is_not_kept_the_next_poll_begins_the_mask(store):
    later = replace(poll(memory_of(store), body(2), 2.0), version=None)
    store.commit(Batch(polls=(later,)))
    carry_out(store, MaskPart(URL, "Visitor 1"), 3.0)
    memory = memory_of(store)
    assert [mask.state for mask in memory.noise.masks] == [MaskState.BEGINNING]
    same = seen(memory, body(2))
    assert not same.changed
    assert not seen(same.memory, body(3)).changed
    carry_out(store, UnmaskPart(URL, 1), 4.0)
    assert memory_of(store).noise.masks == ()


@pytest.mark.parametrize("found", [body(1), body(2)], ids=["unchanged", "changed"])
async def test_a_poll_under_way_loses_no_mask(store, found):
    clock, stop, incoming = FakeClock(now=100.0), asyncio.Event(), Incoming()
    [record] = store.pages()
    watched = {0: Watched(record.page, record.memory)}
    recorded: list[Progress] = []

    class Web:
        async def poll(self, page: Page, memory: PageMemory) -> PollReport:
            if clock() < 102.0:
                incoming.remask(carry_out(store, MaskPart(URL, "Visitor 1"), clock()).remasked)
            for _ in range(4):  # the loop takes the mask in meanwhile
                await asyncio.sleep(0)
            return PollReport(poll(memory, found, clock()))

    async def record_turn(turn: Progress) -> None:
        recorded.append(turn)
        polls = tuple(report.result for report in turn.reports)
        store.commit(Batch(polls=polls, remembered=turn.remembered))

    clock.stop_at(110.0, stop)
    scheduler = Scheduler(Uniform(), Budget(0.5))
    scheduler.restore((record.page,), None)
    await asyncio.wait_for(
        run(
            scheduler,
            Web(),
            watched=watched,
            clock=clock,
            record=record_turn,
            stop=stop,
            incoming=incoming,
        ),
        timeout=30,
    )
    outcomes = [r.result.observation.outcome for turn in recorded for r in turn.reports]
    first = Outcome.CHANGED if found == body(2) else Outcome.UNCHANGED
    assert outcomes[0] is first
    assert set(outcomes[1:]) == {Outcome.UNCHANGED}
    for memory in (memory_of(store), watched[0].memory):
        assert [mask.state for mask in memory.noise.masks] == [MaskState.SET]
        assert not seen(memory, body(7)).changed


@pytest.mark.parametrize("request_", [UnmaskPart(URL, 7), MaskPart(URL, "Visitor 1")])
def test_its_remedies_name_the_database(store, request_):
    carry_out(store, MaskPart(URL, "Visitor 1"), 2.0)
    with pytest.raises(InputError, match=f"`pollwise explain {URL} --db {store.path}` shows"):
        carry_out(store, request_, 3.0)
