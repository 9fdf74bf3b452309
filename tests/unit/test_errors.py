"""The tree drawn in the module's docstring is the tree of the classes."""

import inspect
import re

import pytest

from pollwise import errors

LINE = re.compile(
    r"^ {4}(?P<rails>[│ ]*)(?P<branch>[├└]── )?(?P<name>\w+Error)(?: \((?P<builtin>\w+)\))? *",
    re.M,
)


def drawn() -> dict[str, tuple[str | None, str | None]]:
    """For each name in the drawing, the name that it hangs from and the builtin in brackets."""
    path: list[str] = []
    tree = {}
    for match in LINE.finditer(errors.__doc__):
        depth = len(match["rails"]) // 4 + bool(match["branch"])
        path[depth:] = [match["name"]]
        tree[match["name"]] = (path[depth - 1] if depth else None, match["builtin"])
    return tree


def test_the_drawing_names_every_class():
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert classes == set(drawn()) == set(errors.__all__)


@pytest.mark.parametrize("name", errors.__all__)
def test_the_drawing_shows_the_bases(name):
    parent, builtin = drawn()[name]
    bases = [base for base in (parent, builtin) if base] or ["Exception"]
    assert [base.__name__ for base in getattr(errors, name).__bases__] == bases
    assert issubclass(getattr(errors, name), errors.PollwiseError)


@pytest.mark.parametrize("name", errors.__all__)
def test_the_message_is_what_was_said(name):
    assert str(getattr(errors, name)("budget=0; give more")) == "budget=0; give more"
