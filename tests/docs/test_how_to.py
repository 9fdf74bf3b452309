"""The lines that import lists do so, on files as the other programs write them."""

import re
import subprocess
import zipfile
from pathlib import Path

from pollwise.web.url_list import read_url_list

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "import-a-list.md"
PARTS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))


def script(part: str, number: int) -> str:
    """A block of shell lines, without those that start a watch."""
    block = re.findall(r"```sh\n(.*?)```", PARTS[part], re.S)[number]
    return "".join(line for line in block.splitlines(True) if not line.startswith("pollwise"))


def urls(folder: Path, lines: str, name: str) -> list[str]:
    """The URLs of the list that the lines leave in a folder."""
    subprocess.run(["sh", "-euc", lines], cwd=folder, check=True)
    return [entry.url for entry in read_url_list(folder / name)]


def test_urlwatch(tmp_path):
    (tmp_path / "urls.yaml").write_text(
        "# a list\nname: one\nurl: https://example.org/one?a=1&b=2\nfilter:\n- xpath: //a\n---\n"
        'url: "https://example.org/two#part"\nheaders:\n  referer: https://example.org/no\n---\n'
        "name: 'by a browser'\nnavigate: 'https://example.org/three'\n---\ncommand: ls /\n"
    )
    found = urls(tmp_path, script("urlwatch", 0), "pages.txt")
    assert found == [f"https://example.org/{end}" for end in ("one?a=1&b=2", "two", "three")]


def test_a_backup_of_changedetection(tmp_path):
    with zipfile.ZipFile(tmp_path / "changedetection-backup-20260101000000.zip", "w") as backup:
        backup.writestr("url-list.txt", "https://example.org/one\r\nhttps://example.org/two\r\n")
        backup.writestr("changedetection.json", "{}")
    found = urls(tmp_path, script("changedetection.io", 0), "backup/url-list.txt")
    assert found == ["https://example.org/one", "https://example.org/two"]


def test_the_pages_of_changedetection_that_are_not_paused(tmp_path):
    watches = {"a": '"https://example.org/one"', "b": '"source:https://example.org/two"'}
    for name, url in watches.items():
        folder = tmp_path / "datastore" / name
        folder.mkdir(parents=True)
        (folder / "watch.json").write_text(f'{{"url": {url}, "paused": false}}')
    (tmp_path / "datastore" / "c").mkdir()
    (tmp_path / "datastore/c/watch.json").write_text('{"url": "https://e.org/", "paused": true}')
    found = urls(tmp_path, script("changedetection.io", 1), "pages.txt")
    assert found == ["https://example.org/one", "https://example.org/two"]
