"""The event log: what is written is read back, and rubbish is refused."""

import json
import math
import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.events import (
    Added,
    Aimed,
    Budgeted,
    Event,
    HostBlocked,
    HostFreed,
    HostPaced,
    Linked,
    PolicyReady,
    Polled,
    Removed,
    Rescored,
    SavedUp,
    Signalled,
    Staffed,
    Tick,
    Together,
    Unanswered,
    Updated,
    decode,
    encode,
)
from pollwise.types import Item, Links, Observation, Outcome, Page

# The same examples at every run, however long they take.
steady = settings(derandomize=True, deadline=None)

times = st.floats(allow_nan=False)
ids = st.integers(0, 2**63 - 1)
numbers = st.floats(0, allow_nan=False)

texts = st.lists(st.text(), max_size=2).map(tuple)

items = st.builds(Item, value=numbers, published_at=st.none() | times)
observations = st.builds(
    Observation,
    page_id=ids,
    polled_at=times,
    outcome=st.sampled_from(Outcome),
    last_changed_at=st.none() | times,
    n_items=st.none() | st.integers(0, 10**6),
    cost=numbers,
    reverted=st.booleans(),
    items=st.none() | st.lists(items, max_size=3).map(tuple),
    relevance=st.none() | numbers,
)
shares = st.lists(st.tuples(st.text(), numbers), max_size=3).map(tuple)
pages = st.builds(
    Page,
    id=ids,
    url=st.text(),
    scope=st.text(),
    weight=numbers,
    cost=numbers,
    seen_at=st.none() | times,
    site=st.text(),
    kind=st.text(),
    paused=st.booleans(),
    tags=texts,
    select=texts,
    ignore=texts,
    render=st.booleans(),
    notify_when=st.sampled_from([(), ("below 20",)]),
)
BY_KIND = {
    Tick: st.builds(Tick, times),
    Polled: st.builds(Polled, times, st.lists(observations, max_size=4).map(tuple)),
    Added: st.builds(Added, times, st.lists(pages, max_size=4).map(tuple)),
    Updated: st.builds(Updated, times, st.lists(pages, max_size=4).map(tuple)),
    SavedUp: st.builds(SavedUp, times, numbers),
    Budgeted: st.builds(Budgeted, times, numbers, numbers, shares),
    Signalled: st.builds(Signalled, times, st.lists(ids, max_size=4).map(tuple), times),
    Removed: st.builds(Removed, times, st.lists(ids, max_size=4).map(tuple)),
    HostBlocked: st.builds(HostBlocked, times, st.text(), times),
    HostFreed: st.builds(HostFreed, times, ids, numbers),
    HostPaced: st.builds(HostPaced, times, st.text(), numbers),
    Linked: st.builds(
        Linked,
        times,
        ids,
        st.builds(
            Links,
            st.lists(ids, max_size=4).map(lambda targets: np.array(targets, np.int64)),
            st.lists(st.text(), max_size=4).map(tuple),
            st.lists(st.text(), max_size=4).map(tuple),
        ),
    ),
    Rescored: st.builds(
        Rescored,
        times,
        st.lists(ids, max_size=4).map(tuple),
        st.lists(numbers, max_size=4).map(tuple),
    ),
    Aimed: st.builds(Aimed, times, st.lists(st.tuples(st.text(), numbers), max_size=4).map(tuple)),
    Staffed: st.builds(Staffed, times, st.integers(1, 10**4)),
    PolicyReady: st.builds(PolicyReady, times),
    Unanswered: st.builds(Unanswered, times, ids),
}
BY_KIND[Together] = st.builds(
    Together, times, st.lists(st.one_of(*BY_KIND.values()), max_size=3).map(tuple)
)


def test_every_kind_of_event_is_tested():
    assert set(BY_KIND) == set(typing.get_args(Event))


@pytest.mark.parametrize("kind", BY_KIND, ids=lambda kind: kind.__name__)
@steady
@given(data=st.data())
def test_decode_gives_back_what_encode_wrote(kind, data):
    event = data.draw(BY_KIND[kind])
    line = encode(event)
    assert decode(line) == event
    assert decode(line + "\n") == event
    assert len(line.splitlines()) == 1
    assert line.isascii()


def test_outcomes_come_back_as_outcomes():
    event = Polled(2.0, (Observation(1, 1.5, Outcome.GONE),))
    assert isinstance(decode(encode(event)).observations[0].outcome, Outcome)


def test_the_format_of_the_log():
    """Logs of earlier versions must stay readable: these lines are what they look like."""
    lines = {
        '["Tick",1.5]': Tick(1.5),
        '["Polled",2.0,[[7,1.5,1,null,null,1.0,false,null,null]]]': Polled(
            2.0, (Observation(7, 1.5, Outcome.CHANGED),)
        ),
        '["Polled",2.0,[[7,1.5,1,null,1,1.0,false,[[0.5,1.25]],0.5]]]': Polled(
            2.0,
            (
                Observation(
                    7,
                    1.5,
                    Outcome.CHANGED,
                    n_items=1,
                    items=(Item(0.5, 1.25),),
                    relevance=0.5,
                ),
            ),
        ),
        '["Added",0.0,[[7,"http://a.example/","a.example",1.0,1.0,null,"",""]]]': Added(
            0.0, (Page(7, "http://a.example/", "a.example"),)
        ),
        '["Updated",0.0,[[7,"http://a.example/","",1.0,1.0,null,"","",null,null,0,true,["a"]]]]': (
            Updated(0.0, (Page(7, "http://a.example/", paused=True, tags=("a",)),))
        ),
        '["Budgeted",3.0,0.5,1.0]': Budgeted(3.0, 0.5, 1.0),
        '["Budgeted",3.0,0.5,1.0,[["shop",0.3]]]': Budgeted(3.0, 0.5, 1.0, (("shop", 0.3),)),
        '["Removed",3.0,[7,8]]': Removed(3.0, (7, 8)),
        '["Signalled",3.0,[7,8],2.5]': Signalled(3.0, (7, 8), 2.5),
        '["HostBlocked",3.0,"a.example",Infinity]': HostBlocked(3.0, "a.example", math.inf),
        '["HostFreed",3.0,7,1.5]': HostFreed(3.0, 7, 1.5),
        '["HostPaced",3.0,"a.example",10.0]': HostPaced(3.0, "a.example", 10.0),
        '["Linked",3.0,7,[8,9],["next","up"],[]]': Linked(
            3.0, 7, Links(np.array([8, 9]), ("next", "up"))
        ),
        '["Linked",3.0,7,[8],["next"],["body/a"],["on whales"]]': Linked(
            3.0, 7, Links(np.array([8]), ("next",), ("body/a",), ("on whales",))
        ),
        '["Rescored",3.0,[7,8],[0.5,0.25]]': Rescored(3.0, (7, 8), (0.5, 0.25)),
        '["Aimed",3.0,[["whale",0.8]]]': Aimed(3.0, (("whale", 0.8),)),
        '["Together",3.0,[["Staffed",3.0,16],["Tick",3.0]]]': Together(
            3.0, (Staffed(3.0, 16), Tick(3.0))
        ),
        '["Staffed",3.0,16]': Staffed(3.0, 16),
        '["PolicyReady",3.0]': PolicyReady(3.0),
    }
    for line, event in lines.items():
        assert encode(event) == line
        assert decode(line) == event


@pytest.mark.parametrize(
    "fields",
    ["7,1.5,1,null,null,1.0", "7,1.5,1,null,null,1.0,false", "7,1.5,1,null,null,1.0,false,null"],
)
def test_lines_of_earlier_versions_are_read(fields):
    polled = decode(f'["Polled",2.0,[[{fields}]]]')
    assert polled == Polled(2.0, (Observation(7, 1.5, Outcome.CHANGED),))
    added = decode('["Added",0.0,[[7,"http://a.example/","a.example",1.0,1.0,null]]]')
    assert added == Added(0.0, (Page(7, "http://a.example/", "a.example"),))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "rubbish",
        "null",
        "5",
        "{}",
        "[]",
        '["Tick"]',
        '["Tick",1.0,2.0]',
        '["Poll",3]',
        '["Nothing",1.0]',
        "[[1],2]",
        '["Polled",1.0]',
        '["Polled",1.0,5]',
        '["Polled",1.0,[[]]]',
        '["Polled",1.0,[[7,1.0,99]]]',
        '["Polled",1.0,[[7,1.0,1,null,null,1.0,false,null,null,1.0]]]',
        '["Polled",1.0,[{"page_id":7}]]',
        '["Polled",1.0,[[7,1.0,1,null,null,1.0,false,5]]]',
        '["Polled",1.0,[[7,1.0,1,null,null,1.0,false,[7]]]]',
        '["Added",1.0,[[]]]',
        '["Added",1.0,[7]]',
        '["Removed",1.0,7]',
        '["Together",1.0,[["Together",1.0,[]]]]',
        '["Together",1.0,[5]]',
        '["Tick",1.5',
    ],
)
def test_rubbish_is_refused_with_the_line_and_an_example(line):
    with pytest.raises(InputError, match="expected a JSON array") as caught:
        decode(line)
    assert repr(line[:80]) in str(caught.value)
    assert "\n" not in str(caught.value)


@steady
@given(st.recursive(st.none() | st.booleans() | numbers | st.text(), st.lists, max_leaves=8))
def test_no_json_brings_another_error(value):
    try:
        decode(json.dumps(value))
    except InputError:
        return
    assert value[0] in {kind.__name__ for kind in BY_KIND}
