"""A frontier in a file, with a clock that the test moves."""

import pytest

from pollwise.frontier.frontier import Frontier
from pollwise.frontier.giving import Asked
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol
from pollwise.frontier.store import FrontierStore


class Crawl:
    """What a client does, at the times that the test says."""

    def __init__(self, path, **options):
        self.path, self.options = path, options
        self.now = 1_000_000.0
        self._open()

    def _open(self):
        self.store = FrontierStore(self.path)
        self.frontier = Frontier(self.store, self.now, **self.options)

    def restart(self):
        """As after the death of the process: nothing is written down at the end."""
        self.store.close()
        self._open()

    def put(self, *items):
        with self.frontier.transaction():
            return [self.frontier.put(item, self.now) for item in items]

    def get(self, urls=0, queues=0, key="", crawl=None, lease=0, most=100):
        params = protocol.GetParams(
            max_urls_per_queue=urls, max_queues=queues, key=key, delay_requestable=lease
        )
        if crawl is not None:
            params.crawlID = crawl
        asked = Asked.of(params)
        given = []
        while True:
            with self.frontier.transaction():
                some = self.frontier.give(asked, self.now, most)
            if not some:
                return [one.url for one in given]
            given += some

    def do(self, name, *values, **named):
        with self.frontier.transaction():
            return getattr(self.frontier, name)(*values, **named)

    def figures(self, key="", crawl=""):
        return self.do("figures", key, crawl, self.now)


@pytest.fixture
def crawl(tmp_path):
    one = Crawl(tmp_path / "frontier.db")
    yield one
    one.store.close()


@pytest.fixture
def make_crawl(tmp_path):
    made = []

    def make(**options):
        made.append(Crawl(tmp_path / f"{len(made)}.db", **options))
        return made[-1]

    yield make
    for one in made:
        one.store.close()
