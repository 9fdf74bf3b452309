"""The site of the tutorial serves the pages that the tutorial watches."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

DOCS = Path(__file__).parents[2] / "docs"


def test_the_site_serves_its_pages() -> None:
    command = [sys.executable, str(DOCS / "tutorial_site.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as site:
        assert site.stdout is not None
        try:
            addresses = [site.stdout.readline().strip() for _ in range(5)]
            for address in addresses:
                with urlopen(address, timeout=30) as answer:
                    name = address.rpartition("/")[2]
                    assert f"<h1>{name.title()}</h1>" in answer.read().decode()
        finally:
            site.kill()
    watched = re.findall(r"^http://127\.0\.0\.1:8000/(\w+)", tutorial(), re.M)
    assert {address.rpartition("/")[2] for address in addresses} == set(watched)


def tutorial() -> str:
    return (DOCS / "tutorial.md").read_text(encoding="utf-8")
