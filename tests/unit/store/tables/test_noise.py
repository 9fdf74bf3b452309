"""What is known of the noise of pages, in the database."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.store.tables.noise import pack_noise, unpack_noise
from pollwise.types import Mask, MaskState, Noise

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
WHOLE = st.integers(0, 2**31)
MASKS = st.builds(
    Mask,
    before=st.tuples(TEXTS, TEXTS),
    after=st.tuples(TEXTS, TEXTS),
    shape=TEXTS,
    least=WHOLE,
    most=WHOLE,
    room=WHOLE,
    sample=TEXTS,
    value=TEXTS,
    quiet=WHOLE,
    state=st.sampled_from(MaskState),
    varying=st.lists(WHOLE, max_size=3).map(tuple),
)
NOISES = st.builds(
    Noise,
    masks=st.lists(MASKS, max_size=3).map(tuple),
    changes_in_a_row=WHOLE,
    since_look=WHOLE,
    gap=WHOLE,
)
MASK = Mask(("\x02", "Now"), ("Ende \u2028", "\x03"), "ab", 1, 1, 20, "12:03 \U0001f600", "cd", 3)


@given(NOISES)
def test_noise_is_kept_as_it_was(noise):
    packed = pack_noise(noise)
    assert unpack_noise(packed) == noise
    packed.encode()


def test_masks_of_earlier_versions_were_set_by_nobody():
    packed = pack_noise(Noise((MASK,)))
    assert unpack_noise(packed.replace(",false]", "]")) == Noise((MASK,))


@given(st.text(min_size=1) | st.lists(st.none() | st.integers() | st.text()).map(str))
def test_anything_else_is_an_error_of_one_kind(text):
    with pytest.raises(ValueError, match="no noise of a page"):
        unpack_noise(text)
