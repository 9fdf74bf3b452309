"""The pages that a scheduler knows are those of a dictionary, whatever comes and goes."""

from hypothesis import given
from hypothesis import strategies as st

from pollwise.page_columns import as_columns
from pollwise.scheduler.known_pages import KnownPages
from pollwise.scheduler.leases import Terms
from pollwise.types import Page

ids = st.integers(0, 12)
steps = st.lists(st.sets(ids, min_size=1).map(list) | ids, max_size=12)


@given(steps, st.randoms(use_true_random=False))
def test_they_are_those_of_a_dictionary(steps, random) -> None:
    known, expected = KnownPages(), {}
    for step in steps:
        if isinstance(step, list):
            random.shuffle(step)
            new = [Page(one, scope=f"{one % 3}", weight=1.0 + one % 2) for one in step]
            new = [page for page in new if page.id not in expected]
            known.add(as_columns(new))
            expected |= {page.id: Terms(page.scope, 1.0, page.weight, ()) for page in new}
        else:
            assert known.take_out(step) == expected.pop(step, None)
        assert dict(known) == expected
        assert list(known) == sorted(expected)
        assert len(known) == len(expected)
        assert [one in known for one in range(-2, 15)] == [one in expected for one in range(-2, 15)]


def test_another_thing_is_known_of_a_page() -> None:
    known = KnownPages()
    known.add(as_columns([Page(0, scope="a"), Page(1, scope="a")]))
    assert known[0] is known[1], "one object for all that have the same"
    known.put(1, known[1]._replace(weight=2.0))
    assert (known[0].weight, known[1].weight) == (1.0, 2.0)


def test_pages_come_and_go_while_somebody_goes_through_them() -> None:
    known = KnownPages()
    known.add(as_columns([Page(page_id) for page_id in range(4)]))
    seen = []
    for page_id, _ in known.items():
        seen.append(page_id)
        if page_id == 1:
            known.take_out(0)
            known.take_out(2)
            known.add(as_columns([Page(7)]))
    assert seen == [0, 1, 3, 7]
