import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.collecting.duplicates import FEWEST_TERMS, Duplicates, believes_canonical, simhash


def text_hash(number: int) -> str:
    return f"{number:016x}{'0' * 16}"


def test_an_exact_copy():
    pages = Duplicates()
    assert pages.seen(4, text_hash(1), None) is None
    assert pages.seen(2, text_hash(2), None) is None
    assert pages.seen(9, text_hash(1), None) == 4
    # Asked again, the same answers.
    assert pages.seen(9, text_hash(1), None) == 4
    assert pages.seen(4, text_hash(1), None) is None


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=5), st.integers(0, 100_000))
def test_a_near_copy_is_within_three_bits(original, bits, page_id):
    copy = original
    for bit in bits:
        copy ^= 1 << bit
    pages = Duplicates()
    assert pages.seen(page_id, text_hash(1), original) is None
    assert pages.seen(page_id + 1, text_hash(2), copy) == (page_id if len(bits) <= 3 else None)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 63), st.integers(0, 63)), max_size=40))
def test_it_finds_what_comparing_with_all_originals_finds(seen):
    pages = Duplicates()
    originals: dict[int, int] = {}
    for number, (page_id, one, other) in enumerate(seen):
        found = 1 << one | 1 << other
        originals.pop(page_id, None)
        near = sorted(
            (distance, original)
            for original, known in originals.items()
            if (distance := (known ^ found).bit_count()) <= 3
        )
        assert pages.seen(page_id, text_hash(number), found) == (near[0][1] if near else None)
        if not near:
            originals[page_id] = found


def test_a_near_copy_has_the_title_of_its_original_and_an_exact_one_any():
    pages = Duplicates()
    assert pages.seen(0, text_hash(1), 0b1, "Pump 4737") is None
    assert pages.seen(1, text_hash(2), 0b1, "Pump 4738") is None
    assert pages.seen(2, text_hash(3), 0b11, "Pump 4738") == 1
    assert pages.seen(3, text_hash(4), 0b11, "Pump 4737") == 0
    assert pages.seen(4, text_hash(1), 0b1, "Pump 4738") == 0
    pages.discard(1)
    assert pages.seen(2, text_hash(3), 0b11, "Pump 4738") is None


def test_a_page_that_changed_is_no_original_of_its_old_text():
    pages = Duplicates()
    pages.seen(0, text_hash(1), 0)
    assert pages.seen(1, text_hash(1), 0) == 0
    assert pages.seen(0, text_hash(2), 2**64 - 1) is None
    assert pages.seen(1, text_hash(1), 0) is None
    assert pages.seen(0, text_hash(1), 0) == 1


def test_a_page_that_went():
    pages = Duplicates()
    pages.seen(0, text_hash(1), 0)
    pages.discard(0)
    pages.discard(0)
    pages.discard(10_000_000)
    assert pages.seen(1, text_hash(1), 0) is None


def test_many_pages_are_kept_apart():
    pages = Duplicates()
    rng = np.random.default_rng(1)
    hashes = [int(value) for value in rng.integers(0, 2**64, 5000, np.uint64)]
    assert {pages.seen(n, text_hash(n), value) for n, value in enumerate(hashes)} == {None}
    copies = [pages.seen(5000 + n, text_hash(9999), hashes[n] ^ 0b111) for n in range(0, 5000, 50)]
    assert copies == list(range(0, 5000, 50))


WORDS = [f"word{number}" for number in range(400)]


def test_texts_nearly_alike_have_hashes_nearly_alike():
    counts = {word: 1 + number % 7 for number, word in enumerate(WORDS)}
    original = simhash(counts)
    changed = dict(counts, word0=2, new=1)
    del changed["word399"]
    other = {word: 1 + number % 3 for number, word in enumerate(WORDS[::2])}
    assert (original ^ simhash(changed)).bit_count() <= 3
    assert (original ^ simhash(other)).bit_count() > 10


def test_a_known_hash_stays_what_it_is():
    """Hashes are kept in collections: another one would make all pages new."""
    counts = dict(zip(WORDS[:25], range(1, 26), strict=True))
    assert simhash(counts) == simhash(dict(reversed(counts.items()))) == 0x50D1F200ED3E1985


def test_few_terms_have_no_hash():
    assert simhash({}) is None
    assert simhash(dict.fromkeys(WORDS[: FEWEST_TERMS - 1], 9)) is None
    assert simhash(dict.fromkeys(WORDS[:FEWEST_TERMS], 9)) is not None


@given(st.dictionaries(st.text(max_size=5), st.integers(1, 2**40), max_size=40))
def test_any_counts_have_a_hash_of_64_bits(counts):
    found = simhash(counts)
    assert (found is None) == (len(counts) < FEWEST_TERMS)
    assert found is None or 0 <= found < 2**64


def test_broken_characters():
    assert simhash({"\udc80" * (n + 1): 1 for n in range(FEWEST_TERMS)}) is not None


@pytest.mark.parametrize(
    ("page", "declared", "believed"),
    [
        ("http://h.org/a?b", "https://h.org/a", True),
        ("http://m.h.org/a", "https://www.h.org/a", True),
        ("http://h.org/", "http://www.h.org/", True),
        ("http://h.org/", "http://h.org/start", True),
        ("http://h.org/?a=1", "http://h.org/", False),
        ("http://h.org/a", "http://h.org/", False),
        ("http://h.org/a", "http://h.org:81/a", False),
        ("http://h.org/a", "http://other.org/a", False),
        ("http://h.org/a", "http://blog.h.org/a", False),
        ("http://m.org/a", "http://www.org/a", False),
    ],
)
def test_declared_canonical(page, declared, believed):
    assert believes_canonical(page, declared) is believed
