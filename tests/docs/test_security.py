"""SECURITY.md names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_promise_names_its_tests() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| **")]
    assert len(rows) >= 10
    for row in rows:
        assert re.findall(r"`(tests/[^`]+)`", row.split("|")[2]), row


def test_every_test_named_is_there() -> None:
    named = set(re.findall(r"`(tests/[^`]+)`", PAGE))
    assert {name for name in named if not (ROOT / name).exists()} == set()
