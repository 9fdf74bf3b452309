"""What users import from `pollwise`: each name is there, for Python and for type checkers."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import pollwise

HOMES = pollwise._HOMES
SOURCES = Path(pollwise.__file__).parent


def run(*words: str) -> str:
    """What a new Python prints."""
    command = [sys.executable, "-P", *words]
    environment = {"PYTHONPATH": str(SOURCES.parent)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("name", pollwise.__all__)
def test_a_name_is_that_of_its_home(name):
    home = import_module(HOMES[name])
    assert name in home.__all__
    assert getattr(pollwise, name) is getattr(home, name)


def test_type_checkers_see_the_same_names():
    tree = ast.parse((SOURCES / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    seen = {
        each.asname: (node.module, each.name)
        for node in imports
        for each in node.names
        if node.module.startswith("pollwise.")
    }
    assert seen == {name: (home, name) for name, home in HOMES.items()}
    assert (SOURCES / "py.typed").is_file()


def test_the_names_are_listed():
    assert dir(pollwise) == sorted(pollwise.__all__) == sorted(HOMES)
    with pytest.raises(AttributeError, match="module 'pollwise' has no attribute 'Zpif'"):
        _ = pollwise.Zpif


@pytest.mark.parametrize("union", [pollwise.Event, pollwise.Command])
def test_all_that_goes_into_a_scheduler_and_comes_out_is_public(union):
    assert all(getattr(pollwise, kind.__name__) is kind for kind in get_args(union))


def test_a_name_imports_no_other_home():
    listing = (
        "import sys, pollwise; pollwise.{}; print(*(m for m in sys.modules if 'pollwise' in m))"
    )
    assert run("-c", listing.format("__all__")).split() == ["pollwise"]
    loaded = run("-c", listing.format("Uniform")).split()
    assert "pollwise.policies.deadline.uniform" in loaded
    assert not [
        name
        for name in loaded
        if name.startswith(("pollwise.policies.index", "pollwise.simulation"))
    ]


def test_the_command_is_also_a_module():
    assert run("-m", "pollwise", "--version") == f"pollwise {pollwise.__version__}\n"
