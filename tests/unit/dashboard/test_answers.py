"""What is answered from: a snapshot that follows the database, and what is bounded."""

import asyncio
import threading
from pathlib import Path

import pytest
from tests.unit.insight.a_watch import make_watch

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.kept import Kept
from pollwise.dashboard.pacing import Pacing
from pollwise.errors import InputError
from pollwise.insight.changes import TooLargeError
from pollwise.insight.snapshot import Snapshot, snapshot_of
from pollwise.live.requests import AddPages, ChangePages
from pollwise.search.query_processor import OverloadedError
from pollwise.settings import WatchSettings
from pollwise.store import Place, Store
from pollwise.store.base import StoreReader
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version
from pollwise.web.wishes import wished_page

PATIENCE = 120


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "watch.db"
    make_watch(path, 1.8e9)
    return path


async def first(answers: Answers) -> Snapshot:
    """The first snapshot, for which what was compiled may have to be loaded."""
    async with asyncio.timeout(PATIENCE):
        while answers.news.snapshot == 0:
            await answers.wait_for_news(1.0)
    return await answers.snapshot()


async def test_what_was_asked_for_here_is_seen_at_once(db: Path) -> None:
    async with Answers(db) as answers:
        url = (await first(answers)).records[0].page.url
        for paused in (True, False, True):
            await answers.ask(ChangePages((wished_page(url, paused=paused),)))
            assert (await answers.snapshot()).records[0].page.paused is paused
            assert (await answers.status()).paused == 1 + paused


async def test_what_others_write_is_news(db: Path) -> None:
    async with Answers(db) as answers:
        url = (await first(answers)).records[0].page.url
        before = answers.news.snapshot
        with Store.open(db) as store:
            store.add_pages([wished_page(url, tags=["x"])], now=0.0)
        async with asyncio.timeout(PATIENCE):
            while answers.news.snapshot == before:
                assert await answers.wait_for_news(1.0)
        assert (await answers.snapshot()).records[0].page.tags == ("x",)
        answers.end()
        assert not await answers.wait_for_news(1.0)


def put_versions(db: Path, bodies: list[bytes]) -> str:
    """So many further versions of the first page; its URL."""
    with Store.open(db) as store:
        page = store.pages()[0].page
        at = 2e9
        for number, body in enumerate(bodies):
            version = Version(page.id, at + number, "text/html", body, f"{number:032x}")
            seen = Observation(page.id, at + number, Outcome.CHANGED)
            memory = PageMemory(version.body_hash)
            store.commit(Batch(polls=(PollResult(seen, memory, version),)))
    return page.url


async def test_a_database_of_which_nothing_was_learned_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, read = tmp_path / "new.db", []
    with Store.open(db) as store:
        store.add_pages([NewPage("https://a.example/")], now=0.0)

    def reads(store: StoreReader, db: Place, *, learned: bool = True) -> Snapshot:
        read.append(learned)
        return snapshot_of(store, db, learned=learned)

    monkeypatch.setattr("pollwise.dashboard.answers.snapshot_of", reads)
    async with Answers(db) as answers:
        await first(answers)
        for _ in range(3):
            await answers._renew()
    assert read == [True]


async def test_a_defect_of_reading_is_told_to_all_who_ask(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(*_: object, **__: object) -> Snapshot:
        raise NameError("defect")

    monkeypatch.setattr("pollwise.dashboard.answers.snapshot_of", defective)
    async with asyncio.timeout(PATIENCE), Answers(db) as answers:
        for _ in range(2):
            with pytest.raises(NameError, match="defect"):
                await answers.snapshot()
        assert not await answers.wait_for_news(PATIENCE)


async def test_new_pages_are_seen_while_what_was_learned_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes a while: until then an empty database would seem to stay so."""
    db, is_loaded = tmp_path / "new.db", threading.Event()
    with Store.open(db) as store:
        store.start_run(1.8e9, WatchSettings(budget="1/hour").recorded(), None)

    def reads(store: StoreReader, db: Place, *, learned: bool = True) -> Snapshot:
        if learned and store.pages():
            is_loaded.wait(PATIENCE)
        return snapshot_of(store, db, learned=learned)

    monkeypatch.setattr("pollwise.dashboard.answers.snapshot_of", reads)
    async with Answers(db) as answers:
        assert (await first(answers)).records == ()
        for number in range(1, 3):
            await answers.ask(AddPages((wished_page(f"http://{number}.example/"),)))
            assert len((await answers.snapshot()).records) == number
        assert (await answers.snapshot()).known is None
        is_loaded.set()
        async with asyncio.timeout(PATIENCE):
            while (await answers.snapshot()).known is None:
                await answers.wait_for_news(0.1)


async def test_large_versions_are_not_compared(db: Path) -> None:
    url = put_versions(db, [b"<p>small", b"<p>x" * 200_000, b"<p>y"])
    with Store.open_readonly(db) as store:
        newest = sum(len(store.versions(page_id)) for page_id in store.page_ids(url))
    async with Answers(db) as answers:
        for before in (newest - 2, newest - 1):
            with pytest.raises(TooLargeError, match=r"compared here \(800,000 bytes\)"):
                await answers.compare(url, before, newest - 1 if before < newest - 1 else newest)
        small = await answers.compare(url, newest - 2, newest)
        assert len(small.hunks) == 1
        with pytest.raises(InputError, match="has no version 999"):
            await answers.compare(url, 1, 999)


async def test_many_comparisons_at_once_are_refused(db: Path) -> None:
    url = put_versions(db, [b"<p>one", b"<p>two"])
    async with Answers(db) as answers:
        asked = (answers.compare(url, None, None) for _ in range(20))
        got = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(one, OverloadedError) for one in got) == 12
        assert (await answers.compare(url, None, None)).hunks


async def made_anew(db: Path, answers: Answers) -> Snapshot:
    """A snapshot that is another one."""
    before = await answers.snapshot()
    with Store.open(db) as store:
        store.add_pages([NewPage(f"http://{len(before.records)}.example/")], now=0.0)
    async with asyncio.timeout(PATIENCE):
        while (now := await answers.snapshot(oldest=0.0, patience=1.0)) is before:
            pass
    return now


async def test_what_is_urgent_is_made_anew_early(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pollwise.dashboard.pacing._SHARE", 1e-9)
    async with Answers(db) as answers:
        await first(answers)
        calm = Kept(answers, lambda snapshot: len(snapshot.records), first_patience=PATIENCE)
        hasty = Kept(
            answers,
            lambda snapshot: len(snapshot.records),
            first_patience=PATIENCE,
            is_urgent=lambda made, snapshot: len(snapshot.records) > made,
        )
        pages = len((await answers.snapshot()).records)
        assert await calm.latest() == await hasty.latest() == pages
        answers._pacing = Pacing()  # snapshots take their time, too
        await made_anew(db, answers)
        # The first turn counts for nothing: the second one is made at once, the third is not.
        assert await calm.latest() == await hasty.latest() == pages + 1
        answers._pacing = Pacing()
        await made_anew(db, answers)
        async with asyncio.timeout(PATIENCE):
            while await hasty.latest() != pages + 2:
                await asyncio.sleep(0.01)
        assert await calm.latest() == pages + 1


async def test_what_takes_long_is_made_beside_and_kept(db: Path) -> None:
    made: list[int] = []

    def make(snapshot: Snapshot) -> int:
        made.append(len(snapshot.records))
        if len(made) == 1:
            raise RuntimeError("once")
        return len(made)

    async with Answers(db) as answers:
        await first(answers)
        kept = Kept(answers, make, first_patience=PATIENCE)
        assert await kept.latest() is None
        kept.outdate()
        with Store.open(db) as store:
            url = store.pages()[0].page.url
            store.add_pages([wished_page(url, tags=["y"])], now=0.0)
        async with asyncio.timeout(PATIENCE):
            while await kept.latest() is None:
                await asyncio.sleep(0.1)
        assert await kept.latest() == 2
