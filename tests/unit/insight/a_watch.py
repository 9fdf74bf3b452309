"""A database of a small watch, for the tests of what is told of one."""

from pathlib import Path

from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, Version

DAY = 86_400.0
POLLS = 41
URLS = (
    *("http://a.example/every", "http://a.example/never", "http://a.example/broken"),
    *("http://b.example/paused", "http://b.example/new"),
)


def make_watch(db: Path, now: float) -> None:
    """Five pages; the first two were polled once a day, the latest time half a day before `now`.

    The first changed every time, the second never; the third failed a day ago; the fourth is paused
    and was polled once, two days ago; the fifth was never polled. The host a.example asked for
    nine seconds between two polls.
    """
    settings = WatchSettings(
        budget="1/day/page", objective="detection", host_limits=("b.example=200/day",)
    )
    begin = now - (POLLS - 0.5) * DAY
    with Store.open(db) as store:
        pages = store.add_pages(
            [
                NewPage(URLS[0], "a.example", tags=("x",), name="Every Day"),
                NewPage(URLS[1], "a.example", tags=("x", "y"), weight=3.0),
                NewPage(URLS[2], "a.example"),
                NewPage(URLS[3], "b.example", paused=True),
                NewPage(URLS[4], "b.example"),
            ],
            now=begin - 1.0,
        )
        scheduler = settings.scheduler_without_first_copies(len(pages))
        scheduler.restore(pages, None)
        store.start_run(begin, settings.recorded(), None)
        polls = []
        for day in range(POLLS):
            at = begin + day * DAY
            polls.append(_poll(0, at, Outcome.CHANGED, title="Day"))
            polls.append(_poll(1, at, Outcome.UNCHANGED if day else Outcome.CHANGED))
        polls.append(_poll(3, now - 2 * DAY, Outcome.CHANGED))
        polls.append(_poll(2, now - DAY, Outcome.FAILED))
        scheduler.policy.observe([poll.observation for poll in polls])
        state = (
            f'{{"rate": 1.0, "now": {now - 1.0}, "next_at": null,'
            ' "hosts": [["a.example", 9.0, 0.0]], "back_offs": []}'
        )
        learned = scheduler.policy.state_dict()
        store.commit(Batch(polls=tuple(polls), learned=learned, scheduler=state))


def _poll(page_id: int, at: float, outcome: Outcome, title: str | None = None) -> PollResult:
    seen = Observation(page_id, at, outcome)
    body = f"{page_id} {at}".encode()
    version = Version(page_id, at, "text/html", body, body.hex())
    return PollResult(
        seen,
        PageMemory(),
        version if outcome is Outcome.CHANGED else None,
        "status 500" if outcome is Outcome.FAILED else None,
        title=title,
    )
