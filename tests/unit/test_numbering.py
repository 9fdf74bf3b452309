"""Numbers of keys are those of one dictionary."""

from hypothesis import given
from hypothesis import strategies as st

from pollwise.numbering import Numbering

keys = st.text(max_size=2) | st.tuples(st.text(max_size=1), st.text(max_size=1))


@given(st.lists(keys), st.lists(keys))
def test_they_are_those_of_a_dictionary(taken_up, others):
    numbers, expected = Numbering(), {}
    for key in taken_up:
        assert numbers.take_up(key) == expected.setdefault(key, len(expected))
    assert numbers.keys == list(expected)
    assert len(numbers) == len(expected)
    for key in (*taken_up, *others):
        assert numbers.get(key) == expected.get(key)


def test_none_of_its_dictionaries_is_large():
    """One of a million takes 60 ms when it grows."""
    numbers = Numbering()
    for number in range(100_000):
        numbers.take_up(f"host{number}.example")
    assert max(map(len, numbers._parts)) < 2 * 100_000 / len(numbers._parts)
