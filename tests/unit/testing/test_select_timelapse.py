"""The script that selected the bundled pages."""

import json
import lzma
import runpy
from pathlib import Path
from typing import Any

import pytest

from pollwise.testing.timelapse import TimeLapse

SCRIPT = Path(__file__).parents[3] / "tools" / "select_timelapse.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def row(site: str, number: int, time: int = 0) -> dict[str, Any]:
    return {"page": f"{site}/{number}", "site": site, "time": time, "body": f"{number} {time}"}


def site(name: str, notice: str | None) -> dict[str, Any]:
    keys = ("repository", "commits", "licence", "licence_text", "attribution")
    return {"site": name, "name": name.upper(), "notice": notice} | {k: f"{k}-{name}" for k in keys}


def test_a_fifth_of_each_site_is_taken(script: dict[str, Any]) -> None:
    rows = [row("large", n) for n in range(51)] + [row("small", n) for n in range(2)]
    chosen = script["select"](rows)
    counts = {name: sum(page.startswith(name) for page in chosen) for name in ("large", "small")}
    assert counts == {"large": 11, "small": 1}


def test_how_often_a_page_changes_plays_no_part(script: dict[str, Any]) -> None:
    once = [row("a", n) for n in range(20)]
    often = [row("a", n, time) for n in range(20) for time in range(n)]
    assert script["select"](once + often) == script["select"](once)


def test_notices_go_with_the_pages(script: dict[str, Any]) -> None:
    text = script["notices"]([site("a", "Do as\nyou like."), site("b", None)], {"a": 3})
    assert "Pages: 3, from <repository-a>" in text
    assert "attribution-a.\n\n```\nDo as\nyou like.\n```" in text
    assert "repository-b" not in text


def test_the_script_from_file_to_file(
    script: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row("a", n, time) for time in range(3) for n in range(5) if n < 4 or not time]
    source, sites = tmp_path / "in.xz", tmp_path / "sites.json"
    source.write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    sites.write_text(json.dumps({"sites": [site("a", None)]}))
    target, notices = tmp_path / "out.xz", tmp_path / "NOTICES.md"
    script["main"](list(map(str, (source, sites, target, notices))))
    said = capsys.readouterr().err
    [name] = TimeLapse.load(target, end=10.0).page_names
    texts = sum(each["page"] == name for each in rows)
    assert said.startswith(f"1 pages of 1 sites, {texts} texts, {texts - 1} changes,")
    assert "Pages: 1, from <repository-a>" in notices.read_text()
