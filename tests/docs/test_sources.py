"""The page about sources: what its selectors keep, they keep."""

import re
from pathlib import Path

import pytest

from pollwise.sources.reading import read
from pollwise.sources.view import Parts

PAGE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
BODIES = {
    kind: re.search(rf"```{kind}\n(.*?)```", PAGE, re.S)[1].encode() for kind in ("html", "json")
}
ROW = re.compile(r"^\| `(?P<select>[^`]+)` \| (?:`(?P<ignore>[^`]+)` )?\| (?P<kept>`.*`) \|$", re.M)
ROWS = [row for row in ROW.finditer(PAGE) if row["kept"].count("`") > 1]


def test_both_tables_are_read():
    assert len(ROWS) == 7


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["select"])
def test_what_selectors_keep(row):
    kind = "json" if row["select"].startswith("json:") else "html"
    content_type = {"json": "application/json", "html": "text/html"}[kind]
    ignore = (row["ignore"],) if row["ignore"] else ()
    kept = read(BODIES[kind], content_type, Parts((row["select"],), ignore)).blocks
    assert list(kept) == re.findall(r"`([^`]+)`", row["kept"])
