"""Pages that go back to versions seen before, over real HTTP, from the fetch to the schedule."""

from collections import Counter
from itertools import count

from aiohttp import web

from pollwise.insight.knowledge import read_knowledge
from pollwise.live.journal import rerun
from pollwise.settings import WatchSettings, read_settings
from pollwise.store import Store
from pollwise.store.records import NewPage

from .patient_watch import watch_for


def serve_pages(site) -> list[str]:
    """One page in two versions that take turns, and four that are new at each request."""
    numbers = count()

    async def flap(request: web.Request) -> web.Response:
        # The markup differs every time, which is no change.
        number = next(numbers)
        return web.Response(text=f"<p id={number}>{number % 2}", content_type="text/html")

    async def news(request: web.Request) -> web.Response:
        return web.Response(text=f"<p>{len(site.asked)}", content_type="text/html")

    paths = ["/flap", *(f"/news/{n}" for n in range(4))]
    for path in paths:
        site.answers[path] = flap if path == "/flap" else news
    return paths


async def test_what_a_reversion_counts_for(site, tmp_path):
    paths = serve_pages(site)
    shares = []
    for worth in (1.0, 0.0):
        db = tmp_path / f"{worth}.db"
        settings = WatchSettings(
            budget="6/minute",
            first_copies="6/minute",
            revert_worth=worth,
        )
        with Store.open(db) as store:
            # With a bound of their own they are not slowed down for changing at every poll.
            store.add_pages(
                [NewPage(site.url(path), site.host, shortest_interval=1.0) for path in paths],
                now=0.0,
            )
        site.asked.clear()
        for begin in (0.0, 1000.0):  # what was seen before outlives the process
            await watch_for(db, settings, begin, 1000.0)
        polls = Counter(path for path in site.paths if path != "/robots.txt")
        assert polls.total() > 150
        shares.append(polls["/flap"] / polls.total())
        with Store.open_readonly(db) as store:
            flap, *others = store.pages()
            assert flap.changes == flap.polls - 1
            # The first copy and the first change are new; 50 polls of a page are kept.
            recent = store.recent_outcomes(flap.page.id, limit=50)
            reverted = [True] * (flap.polls - 2) + [False] * 2
            assert [seen.reverted for seen in recent] == reverted[:50]
            assert len(flap.memory.earlier_hashes) == 1
            assert all(len(other.memory.earlier_hashes) == 12 for other in others)
            assert not any(seen.reverted for seen in store.recent_outcomes(others[0].page.id))
            # The log leads to what was learned, and readers go by the setting of the run.
            run = store.runs()[-1]
            scheduler = read_settings(run.settings).scheduler(len(paths))
            rerun(scheduler, store.initial_state(run.id), store.events(run.id))
        known = read_knowledge(db)
        worths = known.policy.worths(range(5))
        assert worths[0] == scheduler.policy.worths([0])[0]
        assert (worths[0] < 1.0) == (worth == 0.0)
        assert worths[1:].tolist() == [1.0] * 4
    assert shares[1] < 0.5 * shares[0]
