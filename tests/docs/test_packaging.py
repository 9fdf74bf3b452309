"""What is shipped beside the code says the same as the code, and can be read by those it is for."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
import yaml

from pollwise.cli.program import app
from pollwise.version import __version__

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"


def test_the_citation_and_the_changes_are_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[?([\d.]+|Unreleased)", changes, re.MULTILINE)
    assert __version__ in versions[:2]


def pinned(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [line.split()[0] for line in lines if "==" in line and line[0] not in "# "]
    return {pin: pin.partition("==")[0] for pin in pins}


def test_the_base_has_the_versions_of_the_tests_and_nothing_of_the_extras() -> None:
    base = pinned("requirements-base.lock")
    assert base.keys() <= pinned("requirements.lock").keys()
    assert {"numpy", "numba", "aiohttp"} <= set(base.values())
    assert not {"scipy", "pandas", "matplotlib", "pyarrow", "starlette"} & set(base.values())


def options_of(command: str) -> set[str]:
    params = typer.main.get_command(app).commands[command].params
    return {option for each in params for option in each.opts}


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd here")
    unit = tmp_path / "pollwise.service"
    text = (PACKAGING / "pollwise.service").read_text(encoding="utf-8")
    # The manual page and the program are those of an installation.
    text = text.replace("Documentation=man:pollwise(1)\n", "")
    text = text.replace("ExecStart=/usr/local/bin/pollwise ", "ExecStart=/bin/true ")
    text = re.sub(r"^#(EnvironmentFile|LoadCredential)=", r"\1=", text, flags=re.MULTILINE)
    assert "\nEnvironmentFile=" in text
    assert "\nLoadCredential=" in text
    unit.write_text(text, encoding="utf-8")
    answer = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, "")


def test_the_service_manager_hears_of_the_unit() -> None:
    text = (PACKAGING / "pollwise.service").read_text(encoding="utf-8")
    told = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    assert told["Type"] == "notify"
    assert told["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert int(told["WatchdogSec"]) > 60
    assert "NotifyAccess" not in told, "the default is what is started itself"
    _, name, *words = told["ExecStart"].split()
    assert {word for word in words if word.startswith("--")} <= options_of(name)
    assert words[-2:] == ["--log", "systemd"], "by which journald knows troubles"


def test_the_image_is_made_of_what_is_there() -> None:
    text = (PACKAGING / "Containerfile").read_text(encoding="utf-8")
    lines = re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE)
    copied = [name for words in lines for name in words.split()[:-1]]
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in re.findall(r"'\.\[(.+)\]'", text):
        assert set(extra.split(",")) <= set(project["optional-dependencies"])


def test_the_containers_of_the_cluster_are_started_as_can_be() -> None:
    file = ROOT / "examples" / "cluster" / "compose.yaml"
    services = yaml.safe_load(file.read_text(encoding="utf-8"))["services"]
    commands = [told["command"] for told in services.values() if told["image"] == "pollwise"]
    assert [command[0] for command in commands] == ["serve", "frontier"]
    for name, *words in commands:
        assert {word for word in words if word.startswith("--")} <= options_of(name)


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man here")
def test_man_shows_the_manual_page_without_a_warning() -> None:
    answer = subprocess.run(
        ["man", "--warnings", "-l", str(PACKAGING / "pollwise.1")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "POLLWISE(1)" in answer.stdout
    assert "--budget" in answer.stdout
