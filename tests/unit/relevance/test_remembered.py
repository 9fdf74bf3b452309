from hypothesis import given
from hypothesis import strategies as st

from pollwise.relevance.remembered import Remembered


@given(st.lists(st.sampled_from(["whale", "sea", "port", "ship", "x" * 65])), st.integers(1, 4))
def test_it_gives_what_is_made_and_holds_no_more_than_it_may(words, most):
    made = []

    def length(word):
        made.append(word)
        return len(word)

    remembered = Remembered(length, most)
    for word in words:
        assert remembered[word] == len(word)
        assert len(remembered) <= most
        assert len(word) <= 64 or word not in remembered


def test_a_word_is_made_once():
    made = []
    remembered = Remembered(lambda word: made.append(word) or word.upper(), 2)
    assert [*map(remembered.__getitem__, ["sea", "sea", "port"])] == ["SEA", "SEA", "PORT"]
    assert made == ["sea", "port"]
