import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from pollwise import extras
from pollwise.errors import InputError
from pollwise.extras import require_extra

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)


@pytest.mark.usefixtures("nothing_installed")
def test_what_is_missing_and_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/elsewhere/bin/python")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        require_extra("serve", "to answer over HTTP")
    assert str(error.value) == (
        "to answer over HTTP needs jinja2, prometheus_client, starlette and uvicorn: install it"
        " with `/elsewhere/bin/python -m pip install 'pollwise[serve]'`"
    )


@pytest.mark.usefixtures("nothing_installed")
def test_an_interpreter_of_this_folder_is_named_as_one_types_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)
    command = os.path.join(".venv", "bin", "python") + " -m pip install 'pollwise[warc]'"
    with pytest.raises(InputError, match=r"or choose jsonl$") as error:
        require_extra("warc", "the format warc", "choose jsonl")
    assert f"`{command}`" in str(error.value)


@pytest.mark.parametrize("extra", extras._LIBRARIES)
def test_the_extra_has_its_libraries(extra):
    wanted = PROJECT["optional-dependencies"][extra]
    for library in extras._LIBRARIES[extra]:
        named = library.replace("_", "-")
        assert any(named in requirement for requirement in wanted)  # python-jsonpath
        assert find_spec(library) is not None  # so the tests run with it
    require_extra(extra, "this")


def test_commands_load_no_library_of_an_extra():
    libraries = {name for names in extras._LIBRARIES.values() for name in names}
    libraries.remove("yaml")  # numba loads it for itself, where it is installed
    program = (
        "import sys; from pollwise.cli.program import app;"
        "import pollwise.live.watching, pollwise.live.collecting, pollwise.insight.forecaster,"
        " pollwise.simulation.loop, pollwise.simulation.recorded.replay, pollwise.knapsack,"
        " pollwise.experiments;"
        f"print([name for name in {[*sorted(libraries), 'pandas']} if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert answer.stdout == "[]\n"


def test_what_all_commands_need_takes_no_time_to_load():
    program = (
        "import sys, pollwise.cli.program;"
        "slow = ['aiohttp', 'asyncio', 'numba', 'numpy', 'rich', 'sqlite3', 'uvloop'];"
        "print([name for name in slow if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize(
    ("parts", "others"),
    [
        ("live.control", ["aiohttp", "asyncio", "numba", "selectolax"]),
        ("console.changes, pollwise.insight.changes", ["aiohttp", "asyncio", "numba"]),
        ("console.status, pollwise.insight.status", ["aiohttp", "asyncio", "numba"]),
        ("live.watching, pollwise.console.watching", ["numba", "pollwise.relevance.terms"]),
    ],
)
def test_a_command_loads_nothing_that_only_others_need(parts, others):
    program = f"import sys, pollwise.{parts}; print([n for n in {others} if n in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert answer.stdout == "[]\n"
