"""Which peers a query concerns."""

import pytest

from pollwise.relevance.terms import terms
from pollwise.search.description import Description
from pollwise.search.engine_directory import Peer
from pollwise.search.query_broker import peers_for
from pollwise.store.sqlite.search import expression_of


def about(documents: int = 10, **vector: float) -> Description:
    return Description("x", tuple(vector), vector, documents)


def peer(name: str, documents: int = 10, failures: int = 0, **vector: float) -> Peer:
    return Peer(name, about(documents, **vector), 0.0, failures)


SEA = about(whale=0.8, krill=0.6)
SKY, STARS = peer("sky", cloud=1.0), peer("stars", comet=0.8, cloud=0.6)
FISH = peer("fish", herring=0.8, krill=0.6)
PEERS = [FISH, STARS, SKY]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["whale"], []),
        (["cloud"], ["sky", "stars"]),
        (["comet"], ["stars"]),
        (["krill"], ["fish"]),
        (["krill", "whale"], []),
        (["krill", "herring"], ["fish"]),
        (["whale", "cloud"], ["sky", "stars"]),
        (["unheard"], ["fish", "sky", "stars"]),
    ],
)
def test_peers_about_as_near_as_this_engine(words: list[str], expected: list[str]) -> None:
    assert [found.url for found, _ in peers_for(words, SEA, PEERS)] == expected


def test_peers_come_with_their_nearness() -> None:
    assert [nearness for _, nearness in peers_for(["cloud"], SEA, PEERS)] == [1.0, 0.6]


def test_at_most_three_the_nearest_or_the_largest() -> None:
    near = [peer(f"p{n}", cloud=(n + 1) / 10) for n in range(9)]
    assert [found.url for found, _ in peers_for(["cloud"], SEA, near)] == ["p8", "p7", "p6"]
    large = [peer(f"p{n}", documents=n, cloud=1.0) for n in range(9)]
    assert [found.url for found, _ in peers_for(["unheard"], SEA, large)] == ["p8", "p7", "p6"]


def test_a_peer_that_rests_takes_the_place_of_none() -> None:
    near = [peer(f"p{n}", failures=n % 2, cloud=(9 - n) / 10) for n in range(9)]
    chosen = [found.url for found, _ in peers_for(["cloud"], SEA, near)]
    assert chosen == ["p0", "p1", "p2", "p3", "p4"]


def test_a_peer_never_heard_of_gets_nothing() -> None:
    assert peers_for(["cloud"], SEA, [Peer("new")]) == []


def test_the_terms_of_a_query_are_those_wanted() -> None:
    wanted, _ = expression_of('Whales "comets and clouds" OR krill -herrings')
    assert terms(wanted) == ["whale", "comet", "cloud", "krill"]
