"""Changes of a graph: how many, of which pages, deletions and the links to what follows."""

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.simulation.worlds.changing_graph import ChangingGraph
from pollwise.simulation.worlds.graph import Graph


def ring(pages: int = 200) -> Graph:
    ids = list(range(pages))
    return Graph(
        ["a"] * pages, [str(n) for n in ids], ids, [*ids[1:], 0], [""] * pages,
        {"it": [0.5] * pages},
    )  # fmt: skip


def test_as_many_changes_as_the_load_says():
    world = ChangingGraph(ring(), change_load=2.0, seed=0)
    changed = [spot for now in range(1, 5001) for spot in world.advance(float(now))]
    assert len(changed) == pytest.approx(10_000, rel=0.05)
    counts = np.bincount(changed, minlength=200)
    assert np.corrcoef(counts, world.rates)[0, 1] > 0.98
    assert world.rates.sum() == pytest.approx(2.0)


def test_changes_depend_on_the_seed_alone():
    one, two, other = (ChangingGraph(ring(), change_load=1.0, seed=seed) for seed in (1, 1, 2))
    assert one.advance(50.0) == two.advance(50.0) != other.advance(50.0)


def test_a_page_that_is_deleted_has_a_successor():
    world = ChangingGraph(ring(3), change_load=1.0, seed=0, deletions=1.0)
    now = 0.0
    while world.exists(1):
        now += 1.0
        world.advance(now)
    assert world.exists(0)
    new = int(world.links(0).targets[0])
    documents = [d for d in range(3, 99) if d < len(world._spots) and world.spot(d) == 1]
    assert documents
    assert new in (1, *documents)
    [page] = world.pages(documents[:1])
    assert page.url != world.pages([1])[0].url
    assert page.scope == "a"


def test_links_are_those_of_the_latest_modification():
    world = ChangingGraph(ring(3), change_load=1.0, seed=0)
    world._replace(1, 5.0)
    assert world.links(0).targets.tolist() == [1]
    world._modified_at[0] = 6.0
    assert world.links(0).targets.tolist() == [3]
    world._replace(1, 7.0)
    assert world.links(0).targets.tolist() == [3]
    assert not world.exists(3)
    assert world.exists(4)


@pytest.mark.parametrize("load", [0.0, -1.0, np.inf, np.nan])
def test_loads_that_are_none(load):
    with pytest.raises(InputError, match="change_load"):
        ChangingGraph(ring(3), change_load=load, seed=0)


def test_a_share_is_a_share():
    with pytest.raises(InputError, match="deletions"):
        ChangingGraph(ring(3), change_load=1.0, seed=0, deletions=1.5)
