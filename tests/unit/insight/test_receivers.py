"""Which receivers of notices fail, as status tells it."""

from pathlib import Path

from pollwise.insight.receivers import FailingReceiver
from pollwise.insight.status import read_status
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult, StoredReceiver
from pollwise.types import Observation, Outcome, PageMemory, Version


def change(store: Store, at: float) -> None:
    version = Version(0, at, "text/html", b"%d" % at, f"{int(at):032x}")
    seen = Observation(0, at, Outcome.CHANGED)
    store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))


def test_status_tells_since_when_why_and_when_it_is_tried_again(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    with Store.open(db) as store:
        store.add_pages([NewPage("http://a.example/")], now=0.0)
        for at in (10.0, 20.0, 30.0, 40.0):  # the first copy is no change
            change(store, at)
        store.save_receiver(StoredReceiver("well", 3, 0, 40.0, 40.0))
        store.save_receiver(StoredReceiver("phone", 1, 2, 20.0, 100.0, 3, "status 500"))
    assert read_status(db).failing_receivers == (
        FailingReceiver("phone", "status 500", 3, 20.0, 2, 30.0, 340.0),
    )
