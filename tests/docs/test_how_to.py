"""The commands of the guides do what these say, on files as the other programs write them."""

import json
import re
import shlex
import subprocess
import sys
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pollwise.store import Store
from pollwise.types import Page
from pollwise.web.judging import judged
from pollwise.web.noise.looks import Copy

GUIDES = Path(__file__).parents[2] / "docs" / "how-to"
PAGE = GUIDES / "import-a-list.md"
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


class Shop(BaseHTTPRequestHandler):
    """A page with a price."""

    def do_GET(self) -> None:
        page = "<h1>Kettle 3000</h1><p class=price>25,00 €</p>".encode()
        is_there = self.path == "/kettle"
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page) * is_there))
        self.end_headers()
        self.wfile.write(page * is_there)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def test_a_price(tmp_path):
    guide = (GUIDES / "tell-me-of-a-price.md").read_text()
    lines = re.findall(r"^pollwise ((?:check|add) .*)$", guide, re.M)
    told = re.findall(r"(?:│[^│\n]*){2}│\n", guide)
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as shop:
        Thread(target=shop.serve_forever).start()
        try:
            said = ""
            for line in lines:
                words = shlex.split(line)
                words[1] = f"http://127.0.0.1:{shop.server_port}/kettle"
                command = [sys.executable, "-m", "pollwise", *words]
                done = subprocess.run(
                    command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=300
                )
                said += done.stdout
        finally:
            shop.shutdown()
    assert len(told) == 3
    for line in told:
        assert line in said
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        [page] = [record.page for record in store.pages()]
    assert (page.name, page.select, page.notify_when) == ("The kettle", (".price",), ("below 20",))


def test_prices_that_fall_in_steps():
    guide = (GUIDES / "tell-me-of-a-price.md").read_text()
    falling = guide[guide.index("falls by 5 %") :]
    rows = re.findall(r"^\| (\d+,\d+ €) \| (none)?.* \|$", falling, re.M)
    page = Page(0, notify_when=("falls by 5 %",))
    number, before = None, None
    for price, none in rows:
        body = price.encode()
        found = judged(page, (), body, "text/plain; charset=utf-8", before, (), number)
        assert found.held_back is (none == "none"), price
        number, before = found.told_number, Copy(body, "text/plain; charset=utf-8")
    assert len(rows) == 7
