"""The commands of the guides do what these say, on files as the other programs write them."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "import-a-list.md"
PARTS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))


def imported(folder: Path, part: str) -> dict[str, object]:
    """What the command of a part of the guide answers in a folder."""
    [line] = re.findall(r"```sh\npollwise (import .*)\n```", PARTS[part])
    done = subprocess.run(
        [sys.executable, "-m", "pollwise", *line.split(), "--json"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_urlwatch(tmp_path):
    (tmp_path / "urls.yaml").write_text(
        "# a list\nname: one\nurl: https://example.org/one?a=1&b=2\nfilter:\n- xpath: //a\n---\n"
        'url: "https://example.org/two#part"\nheaders:\n  referer: https://example.org/no\n---\n'
        "name: 'by a browser'\nnavigate: 'https://example.org/three'\n---\ncommand: ls /\n"
    )
    answer = imported(tmp_path, "urlwatch")
    assert (answer["origin"], answer["pages"], answer["new"]) == ("urlwatch", 2, 2)
    assert len(answer["left_out"]) == 3


@pytest.mark.parametrize("checks", [0, 1])
def test_a_backup_of_changedetection(tmp_path, checks):
    with zipfile.ZipFile(tmp_path / "changedetection-backup.zip", "w") as backup:
        backup.writestr("a/watch.json", '{"url": "https://example.org/one", "last_checked": 0}')
        backup.writestr("b/watch.json", '{"url": "source:https://example.org/two"}')
        if checks:
            backup.writestr("b/history.txt", "1700000000,a.txt\n1700100000,b.txt\n")
        backup.writestr("changedetection.json", "{}")
    answer = imported(tmp_path, "changedetection.io")
    assert (answer["pages"], answer["taught"]) == (2, checks)
