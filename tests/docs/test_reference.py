"""The reference has every command, option, policy, public name, and what lists of pages can say."""

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import pollwise
from pollwise.errors import InputError
from pollwise.policies.catalogue import COLLECTING, WATCHING
from pollwise.scheduler.budgets import parse_budget
from pollwise.store.retention import parse_retention
from pollwise.web.url_list import read_url_list

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
SOURCES = Path(pollwise.__file__).parent
CONVENTIONS = (FOLDER / "conventions.md").read_text(encoding="utf-8")


def load(path: Path) -> ModuleType:
    """The module of a script."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = load(ROOT / "tools" / "make_reference.py")
COMMANDS = MAKER.program().commands
OPTION = re.compile(r"^\| `(--[^` ]+)[^`]*` \|[^|]*\| (?P<meaning>(?:[^|]|\\\|)*) \|$", re.M)


def section(page: str, heading: str) -> str:
    """What stands below a heading of the second level."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", MAKER.pages())
def test_a_page_is_what_the_code_says(name):
    told = "run `python tools/make_reference.py`"
    assert (ROOT / name).read_text(encoding="utf-8") == MAKER.pages()[name], told


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name):
    """As many as there are, each with its meaning."""
    page = section((FOLDER / "commands.md").read_text(encoding="utf-8"), name)
    documented = {row[1]: row["meaning"] for row in OPTION.finditer(page.replace("\\|", "/"))}
    existing = {
        "/".join([*each.opts, *each.secondary_opts])
        for each in COMMANDS[name].params
        if each.param_type_name == "option"
    }
    assert documented.keys() == existing
    assert all(re.search("[a-z]{3}", meaning) for meaning in documented.values())


def test_every_argument_has_a_meaning():
    for command in COMMANDS.values():
        assert command.help
        for each in command.params:
            assert each.help, f"{command.name}: {each.name}"


def test_every_policy_and_name_is_there():
    policies = (FOLDER / "policies.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"\[`([a-z0-9-]+)`\]\(#", policies))
    assert rows == {*WATCHING.names, *COLLECTING.names}
    names = (FOLDER / "names.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", names, re.M) == pollwise.__all__


def test_every_environment_variable_is_there():
    used = set()
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r"""(?:environ(?:\.get\(|\[)|envvar=)"([A-Z_]+)""", text))
    table = section(CONVENTIONS, "Environment variables")
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == used


def test_every_extra_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - {"dev", "docs"}
    table = section(CONVENTIONS, "Extras")
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == extras


def test_what_is_said_of_lists_is_so(tmp_path):
    about = section(CONVENTIONS, "Lists of pages")
    path = tmp_path / "pages.txt"
    words = re.findall(r"^\| `([^`]+)` \|", about, re.M)
    example = re.search(r"```text\n(.*?)```", about, re.S)
    assert example is not None
    taken_back = re.findall(r"`([a-z-]+=)`", about)
    lines = [f"https://example.org/{n} {word}" for n, word in enumerate([*words, *taken_back])]
    path.write_text("\n".join(lines) + "\n" + example[1])
    assert len(read_url_list(path)) == len(lines) + 2
    path.write_text("https://example.org/ priority=2\n")
    with pytest.raises(InputError, match="only ") as error:
        read_url_list(path)
    named = set(re.findall(r"([a-z-]+)=[A-Z]", str(error.value)))
    assert named == {word.partition("=")[0] for word in words}


def test_what_is_said_of_budgets_and_versions_is_so():
    budgets = section(CONVENTIONS, "Budgets")
    for unit in re.findall(r"`(\w+)`", budgets.partition("With `/page`")[0]):
        assert parse_budget(f"1/{unit}").rate > 0
    with pytest.raises(InputError) as error:
        parse_budget("1/fortnight")
    known = str(error.value).partition("one of ")[2].partition(", such")[0]
    assert set(re.findall(r"`(\w+)`", budgets.partition("With `/page`")[0])) == (
        set(re.findall(r"\w+", known)) - {"or"}
    )
    for text in re.findall(r"`([^`]+)`", section(CONVENTIONS, "Versions to keep")):
        if not text.startswith("--"):
            parse_retention(text)
