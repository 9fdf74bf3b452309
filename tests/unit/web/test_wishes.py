"""What users want of a page, as they write it."""

import pytest

from pollwise.errors import InputError
from pollwise.web.wishes import read_tags, wished_page


@pytest.mark.parametrize("tag", ["x\udcff", "x\x00", "\x1b[31m", "a b"], ids=ascii)
def test_a_tag_is_a_word_that_can_be_printed(tag):
    with pytest.raises(InputError, match="is no word") as refused:
        read_tags([tag])
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("selector", ["p\udcff", "p\x00", "a\nb"], ids=ascii)
@pytest.mark.parametrize("name", ["select", "ignore"])
def test_a_selector_is_a_line_that_can_be_printed(name, selector):
    with pytest.raises(InputError, match=f"{name}: a selector is one line") as refused:
        wished_page("http://a.example/", **{name: [selector]})
    assert str(refused.value).isprintable()
