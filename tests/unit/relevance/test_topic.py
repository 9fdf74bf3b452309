import sys
import types

import pytest

from pollwise.errors import InputError
from pollwise.relevance.topic import load_judge, topic


@pytest.fixture
def judges(monkeypatch):
    module = types.ModuleType("judges_of_tests")
    module.whales = lambda text: 1.0 if "whale" in text else 0.25
    module.percent = lambda text: 75
    module.silent = lambda text: None
    module.number = 3
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_words_become_terms_each_once():
    assert topic("Statistics, statistical: Bayesian").words == ("statist", "bayesian")


@pytest.mark.parametrize("words", ["the of and", "?!...", "42 1999", "a b c", " "])
def test_a_topic_needs_a_usable_word(words):
    with pytest.raises(InputError, match="has no usable word") as caught:
        topic(words)
    assert "\n" not in str(caught.value)
    assert repr(words) in str(caught.value)


def test_examples_are_counted_and_must_have_words():
    assert topic(examples=["Whales and whale songs"]).examples == ({"whale": 2, "song": 1},)
    with pytest.raises(InputError, match=r"example 2 .* has no usable word"):
        topic(examples=["Whales", "... 12 ..."])


def test_no_topic_at_all():
    with pytest.raises(InputError, match="there is none"):
        topic()


@pytest.mark.usefixtures("judges")
def test_a_judge_answers_for_texts():
    assert topic(judge="judges_of_tests:whales").judge == "judges_of_tests:whales"
    judge = load_judge("judges_of_tests:whales")
    assert judge("a whale") == 1.0
    assert judge("a cat") == 0.25


@pytest.mark.usefixtures("judges")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("whales", "write MODULE:FUNCTION"),
        (":whales", "write MODULE:FUNCTION"),
        ("judges_of_tests:", "write MODULE:FUNCTION"),
        ("no_such_module_of_judges:f", "cannot be loaded"),
        ("judges_of_tests:dolphins", "cannot be loaded"),
        (".judges_of_tests:whales", "cannot be loaded"),
        ("judges_of_tests:number", "is no callable"),
    ],
)
def test_a_judge_that_cannot_be_loaded(name, message):
    with pytest.raises(InputError, match=message):
        topic(judge=name)


@pytest.mark.parametrize(("code", "why"), [("def f(:", "SyntaxError"), ("1 / 0", "ZeroDivision")])
def test_a_judge_whose_module_is_broken(tmp_path, monkeypatch, code, why):
    (tmp_path / "broken_judges.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=f"cannot be loaded .{why}"):
        topic(judge="broken_judges:f")


@pytest.mark.usefixtures("judges")
@pytest.mark.parametrize("name", ["percent", "silent"])
def test_a_judge_must_answer_a_number_from_0_to_1(name):
    judge = load_judge(f"judges_of_tests:{name}")
    with pytest.raises(InputError, match="must answer a number from 0 to 1"):
        judge("some text")
