"""What a collection is about: words, example pages, or a callable that judges a page's text."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pollwise.checks import is_real
from pollwise.errors import InputError

__all__ = ["Judge", "Topic", "load_judge", "topic"]

Judge = Callable[[str], float]
"""Takes the text of a page, gives its relevance from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as `topic` makes it.

    `words` are terms, `examples` the term counts of example pages, `judge` the name of a callable,
    as `MODULE:FUNCTION`. Where there is a judge, its judgement is the relevance of a page.
    """

    words: tuple[str, ...] = ()
    examples: tuple[Mapping[str, int], ...] = ()
    judge: str | None = None


def topic(words: str = "", examples: Sequence[str] = (), judge: str | None = None) -> Topic:
    """The topic of these `words`, `examples` (texts of pages) and `judge` (`MODULE:FUNCTION`).

    `InputError` where there is no usable word in `words` or in an example, where a judge cannot
    be loaded, and where there is none of the three.

    >>> topic("the statistics of marine biology").words
    ('statist', 'marin', 'biolog')
    """
    if not (words or examples or judge):
        raise InputError(
            "topic: there is none; give words such as 'marine biology', example pages, or the name"
            " of a Python callable as MODULE:FUNCTION"
        )
    # Imported here, because its expressions take a while to compile, and most runs have no topic.
    from pollwise.relevance.terms import term_counts, terms

    found = tuple(dict.fromkeys(terms(words)))
    if words and not found:
        raise InputError(
            f"topic {words[:80]!r} has no usable word: stop words, numbers, signs and single"
            " letters do not count; give a word that pages about the topic have and others have not"
        )
    counts = tuple(map(term_counts, examples))
    for number, (example, counted) in enumerate(zip(examples, counts, strict=True), 1):
        if not counted:
            raise InputError(
                f"topic: example {number} ({example.strip()[:40]!r}) has no usable word; give a"
                " page with text about the topic"
            )
    if judge is not None:
        load_judge(judge)
    return Topic(found, counts, judge)


def load_judge(name: str) -> Judge:
    """The callable of a name such as `my_package.topics:about_whales`, its answers checked.

    `InputError` where it cannot be imported, is no callable, or (when called) answers anything
    but a number from 0 to 1. What it raises itself passes through.
    """
    module_name, _, path = name.partition(":")
    if not (module_name and path):
        raise InputError(
            f"topic: {name!r} does not name a callable; write MODULE:FUNCTION, such as"
            " my_topics:about_whales"
        )
    try:
        judge = importlib.import_module(module_name)
        for part in path.split("."):
            judge = getattr(judge, part)
    except Exception as error:  # what a module may raise that is imported: anything
        why = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"topic: {name!r} cannot be loaded ({why}); is the module installed, or in the"
            " directory that PYTHONPATH names?"
        ) from error
    if not callable(judge):
        raise InputError(f"topic: {name!r} is no callable but {judge!r}; name a function")

    def checked(text: str) -> float:
        value = judge(text)
        if not (is_real(value) and 0 <= value <= 1):
            raise InputError(
                f"topic: {name} answered {value!r} for the text {text[:40]!r}; it must answer a"
                " number from 0 to 1"
            )
        return float(value)

    return checked
