"""What kernels are told of polls, and states whose type numba works out once only.

That must be the type of every state of the class.
"""

from collections.abc import Callable

import numba
import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.arrays import (
    ABSENT,
    HELD,
    LEASED,
    OBSERVATION,
    READY,
    blank_observation,
    known_rows,
    new_ids,
    observed,
    tells,
    write_observation,
)
from pollwise.policies.automata.htraa import HTRAA
from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.bandits.gp_ucb import GPUCB
from pollwise.policies.bandits.thompson import ThompsonSampling
from pollwise.policies.bandits.ucb1 import UCB1
from pollwise.policies.gpoks.gpoks import GPOKS, GPOKS_VARIANTS
from pollwise.types import Observation, Outcome, Page

MANY = 40

MAKERS: dict[str, Callable] = {
    "lakg": lambda resolution, _: LAKG(resolution=resolution),
    "lakg at random": lambda resolution, generator: LAKG(
        resolution=resolution, schedule="random", generator=generator
    ),
    "htraa": lambda resolution, generator: HTRAA(resolution=resolution, generator=generator),
    "ucb1": lambda resolution, generator: UCB1(resolution=resolution, generator=generator),
    "ts": lambda resolution, generator: ThompsonSampling(
        resolution=resolution, generator=generator
    ),
    "gp-ucb": lambda resolution, generator: GPUCB(resolution=resolution, generator=generator),
}
MAKERS |= {
    f"gpoks {variant}": lambda resolution, generator, variant=variant: GPOKS(
        variant=variant, resolution=resolution, generator=generator
    )
    for variant in GPOKS_VARIANTS
}


def worked_out(state) -> numba.types.Type:
    """The type of a state from those of its fields."""
    return numba.types.NamedTuple([numba.typeof(value) for value in state], type(state))


@pytest.mark.parametrize("name", MAKERS)
def test_the_type_of_a_state_is_the_same_without_pages_with_one_and_with_many(name):
    for resolution in (2, 1000):
        policy = MAKERS[name](resolution, np.random.default_rng(1))
        assert numba.typeof(policy.state) == worked_out(policy.state)
        pages = 1 if resolution == 2 else 2 if name in ("ucb1", "ts", "gp-ucb") else MANY
        for page_id in range(pages):
            policy.add([Page(page_id)])
            assert numba.typeof(policy.state) == worked_out(policy.state)


def test_states_with_and_without_a_generator_have_types_of_their_own():
    generator = np.random.default_rng(1)
    plain, random = LAKG(), LAKG(schedule="random", generator=generator)
    types = [numba.typeof(policy.state) for policy in (plain, random, plain)]
    assert types[0] == types[2] != types[1]


def test_kernels_are_told_of_pages_that_are_there_only():
    pages = np.zeros(4, [("where", "i8")])
    pages["where"] = [READY, ABSENT, LEASED, HELD]
    told = observed(
        [
            Observation(2, 5.0, Outcome.CHANGED, reverted=True),
            Observation(1, 5.0, Outcome.CHANGED),
            Observation(-1, 5.0, Outcome.CHANGED),
            Observation(4, 5.0, Outcome.CHANGED),
            Observation(0, 6.0, Outcome.FAILED, last_changed_at=1.0, n_items=7),
        ],
        pages,
    )
    assert told.dtype == OBSERVATION
    assert told["page"].tolist() == [2, 0]
    assert told["polled_at"].tolist() == [5.0, 6.0]
    assert told["outcome"].tolist() == [Outcome.CHANGED, Outcome.FAILED]
    assert told["reverted"].tolist() == [True, False]
    assert np.isnan(told["last_changed_at"][0])
    assert told["last_changed_at"][1] == 1.0
    assert told["n_items"].tolist() == [-1, 7]
    assert len(observed([], pages)) == 0


@pytest.mark.parametrize("outcome", Outcome)
def test_a_poll_tells_something_if_it_was_answered_and_is_newer(outcome):
    (observation,) = blank_observation()
    write_observation(observation, 0, 10.0, outcome)
    answered = outcome in (Outcome.CHANGED, Outcome.UNCHANGED)
    assert tells(observation, 9.0) == answered
    assert tells(observation, np.nan) == answered
    assert not tells(observation, 10.0)
    assert not tells(observation, 11.0)


@pytest.mark.parametrize("ids", [[3, 1, 3], [2, -1], [1, 4]])
def test_ids_of_new_pages_are_refused_that_come_twice_or_are_negative_or_watched(ids):
    pages = np.zeros(5, [("where", "i1")])
    pages["where"] = [ABSENT, ABSENT, ABSENT, ABSENT, READY]
    assert new_ids([Page(3), Page(1)], pages).tolist() == [3, 1]
    with pytest.raises(InputError, match="negative, given twice or watched"):
        new_ids([Page(page_id) for page_id in ids], pages)


@pytest.mark.parametrize(
    ("told", "ids", "rows"),
    [
        ([0, 2, 3], [0, 2, 3], [0, 1, 2]),  # all, in order: nothing is copied
        ([0, 1, 2], [0, 2], [0, 2]),  # 1 is not there
        ([3, 0, 3, 9, -1], [0, 3], [1, 0]),  # in any order, and twice
        ([], [], []),
    ],
)
def test_what_was_learned_of_pages_that_are_there(told, ids, rows):
    pages = np.zeros(4, [("where", "i1")])
    pages["where"] = [READY, ABSENT, READY, READY]
    found, taken = known_rows({"page_ids": np.array(told, np.int64)}, pages)
    assert found.tolist() == ids
    assert np.arange(len(told))[taken].tolist() == rows
