"""What users want of a page, as they write it."""

import pytest

from pollwise.errors import InputError
from pollwise.store.records import NewPage
from pollwise.web.wishes import read_tags, read_wishes, wished_page


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


@pytest.mark.parametrize("condition", ["has \udcff", "has a\x00"], ids=ascii)
def test_a_condition_is_a_line_that_can_be_printed(condition):
    with pytest.raises(InputError, match="cannot be shown; leave them out") as refused:
        wished_page("http://a.example/", notify_when=[condition])
    assert str(refused.value).isprintable()


def test_conditions_are_kept_as_they_were_told_but_for_spaces():
    page = wished_page("http://a.example/", notify_when=[" below  20 ", "", "has A  b"])
    assert page.notify_when == ("below 20", "has A b")
    assert wished_page("http://a.example/", notify_when=[""]).notify_when == ()


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "x\udcff", "x" * 201], ids=range(4))
def test_a_name_is_a_short_line_that_can_be_printed(name):
    with pytest.raises(InputError, match="expected one line of text of at most 200") as refused:
        wished_page("http://a.example/", name=name)
    assert str(refused.value).isprintable()


def test_a_name_is_told_without_the_spaces_around_it():
    assert wished_page("http://a.example/", name=" Town hall ").name == "Town hall"
    assert wished_page("http://a.example/", name="").name == ""


def test_wishes_are_checked_without_a_page():
    assert wished_page("http://a.example", weight=2.0) == NewPage(
        "http://a.example/", "a.example", **read_wishes(weight=2.0)
    )
    with pytest.raises(InputError, match="cost 0: expected a number above 0"):
        read_wishes(cost=0.0)
    for name in ("weight", "cost"):
        assert read_wishes(**{name: 1e9})[name] == 1e9
        assert read_wishes(**{name: 1e-9})[name] == 1e-9
        for value in (1.1e9, 0.9e-9):
            with pytest.raises(InputError, match=f"{name} .*: expected .* to 1,000,000,000"):
                read_wishes(**{name: value})
