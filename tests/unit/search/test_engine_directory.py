"""The engine directory asks its peers again in time, those that fail after growing pauses."""

from itertools import pairwise

from pollwise.search.description import Description
from pollwise.search.engine_directory import EngineDirectory
from pollwise.search.peer_client import PeerError

SEA, SKY = "http://sea.example", "http://sky.example"


class World:
    """Peers that answer unless they are down, and the time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.down: set[str] = set()
        self.asked: list[str] = []

    def __call__(self) -> float:
        return self.now

    async def describe(self, url: str) -> Description:
        self.asked.append(url)
        if url in self.down:
            raise PeerError("no connection")
        return Description(url, (), {}, len(self.asked))


async def times_asked(directory: EngineDirectory, world: World, seconds: int) -> list[float]:
    """When the directory asked, looking each second."""
    times = []
    for _ in range(seconds):
        before = len(world.asked)
        await directory.refresh(world.describe)
        times += [world.now] * (len(world.asked) - before)
        world.now += 1
    return times


async def test_descriptions_are_renewed_each_minute() -> None:
    world = World()
    directory = EngineDirectory([SEA, SKY], clock=world)
    assert [peer.description for peer in directory.peers] == [None, None]
    assert await times_asked(directory, world, 180) == [
        *(1000.0, 1000.0),
        *(1060.0, 1060.0),
        *(1120.0, 1120.0),
    ]
    sea, sky = directory.peers
    assert (sea.url, sky.url) == (SEA, SKY)
    assert sea.heard_at == 1120.0
    assert sea.description is not None
    assert sea.description.name == SEA


async def test_a_peer_that_fails_is_asked_after_growing_pauses() -> None:
    world = World()
    world.down = {SEA}
    directory = EngineDirectory([SEA], clock=world)
    times = await times_asked(directory, world, 2000)
    pauses = [after - before for before, after in pairwise(times)]
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]
    [peer] = directory.peers
    assert (peer.failures, peer.error, peer.heard_at) == (len(times), "no connection", None)


async def test_a_peer_that_answers_again_is_as_new() -> None:
    world = World()
    directory = EngineDirectory([SEA, SKY], clock=world)
    await directory.refresh(world.describe)
    directory.failed(SEA, "no answer")
    sea, sky = directory.peers
    # What is known of it stays, so that a query can tell who is missing.
    assert (sea.failures, sea.error, sky.failures) == (1, "no answer", 0)
    assert sea.description is not None
    world.now += 2
    await directory.refresh(world.describe)
    sea, _ = directory.peers
    assert (sea.failures, sea.error, sea.heard_at) == (0, None, world.now)
    assert world.asked == [SEA, SKY, SEA]


async def test_many_searches_that_fail_at_once_are_one_failure() -> None:
    world = World()
    directory = EngineDirectory([SEA], clock=world)
    await directory.refresh(world.describe)
    for _ in range(50):
        directory.failed(SEA, "no answer")
    [peer] = directory.peers
    assert (peer.failures, peer.ask_at) == (1, world.now + 2)


async def test_a_clock_that_is_set_back_keeps_no_peer_waiting() -> None:
    world = World()
    directory = EngineDirectory([SEA, SKY], clock=world)
    await directory.refresh(world.describe)
    directory.failed(SEA, "no answer")
    world.now -= 30 * 86400.0
    directory.failed(SEA, "no answer")
    assert directory.peers[0].ask_at == world.now + 4
    assert await times_asked(directory, world, 10) == [world.now - 10, world.now - 6]
