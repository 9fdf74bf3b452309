"""How long pages take to read, real ones and those made to hurt, and what another version reads.

    python benchmarks/reading.py [--documents FOLDER] [--pages 2000] [--against SRC]

reads pages of the Debian documentation packages (evenly from each package) and the HTML of the
bundled time-lapse. `--against`: the folder `src` of another version of pollwise, by which they
are read as well; what differs is counted, and examples are named. Times are those of the
processor, the least of three.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from debian_documents import SMALL, unpacked

import pollwise
from pollwise.testing.timelapse import TimeLapse

SOURCE = Path(pollwise.__file__).parents[1]
LARGEST = 2**20
HOSTILE = {
    "<div> 100,000 times": "<div>" * 100_000,
    "<ul><li> 60,000 times": "<ul><li>" * 60_000,
    "<b 1> <b 2> ... and paragraphs": "<p>"
    + "".join(f"<b {n}>" for n in range(5_000))
    + "</p>"
    + "<p>x" * 50_000,
    "<a><b><a> 60,000 times": "<a><b><a>" * 60_000,
    "a tag of 150,000 attributes": "<p " + "".join(f"a{n} " for n in range(150_000)) + ">",
    "<table><tr><td> 40,000 times": "<table><tr><td>" * 40_000,
}


def real_pages(folder: Path, wanted: int) -> dict[str, bytes]:
    """So many pages by their names, evenly from each package, and the time-lapse's."""
    chosen = random.Random(1)
    packages = unpacked(folder, SMALL)
    pages = {}
    for package in packages:
        files = sorted(path for path in package.rglob("*.html") if path.is_file())
        for path in chosen.sample(files, min(len(files), -(-wanted // len(packages)))):
            body = path.read_bytes()
            if len(body) <= LARGEST:
                pages[str(path.relative_to(folder))] = body
    lapse = TimeLapse.bundled()
    for name in lapse.page_names:
        body = lapse.history(name)[-1].body
        if body is not None and body.lstrip()[:1] == "<":
            pages[f"time-lapse: {name}"] = body.encode()
    return pages


def read_all(place: Path) -> None:
    """What this version reads in the pages of a folder, and how long that takes, as JSON."""
    from pollwise.web.reading.page_parser import parse_page

    pages = [path.read_bytes() for path in sorted(place.glob("*.html"))]
    url = "http://a.example/b/c.html"
    parse_page(pages[0], "text/html", url)
    begun = time.process_time()
    for body in pages:
        parse_page(body, "text/html", url)
    seconds = time.process_time() - begun
    found = []
    for body in pages:
        page = parse_page(body, "text/html", url)
        found.append(
            {
                "title": page.title,
                "text": " ".join(page.blocks),
                "blocks": page.blocks,
                "targets": [link.url for link in page.links],
                "anchors": [[link.url, link.anchor] for link in page.links],
                "places": [[link.url, link.place] for link in page.links],
                "robots": [page.noindex, page.nofollow],
                "canonical": page.canonical,
                "language": page.language,
            }
        )
    json.dump({"seconds": seconds, "found": found}, sys.stdout)


def read_by(source: Path, place: Path) -> dict:
    """What the version in this folder reads."""
    answer = subprocess.run(
        [sys.executable, __file__, "--read", str(place)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(answer.stdout)


def compare(names: list[str], ours: list[dict], theirs: list[dict]) -> None:
    """Count the pages in which something differs, with an example of each."""
    differing: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for name, own, other in zip(names, ours, theirs, strict=True):
        told = {key for key in own if own[key] != other[key]}
        if "".join(own["text"].split()) != "".join(other["text"].split()):
            told.add("characters")
        if sorted(own["targets"]) != sorted(other["targets"]):
            told.add("set of targets")
        for key in told:
            differing[key] += 1
            examples.setdefault(key, name)
        differing["anything"] += bool(told)
    for key, times in differing.most_common():
        print(f"differs: {key:16}{times:6}  {examples.get(key, '')}")


def hostile() -> None:
    """How long the pages take that are made to hurt."""
    from pollwise.web.reading.page_parser import parse_page

    for name, html in HOSTILE.items():
        begun = time.process_time()
        parse_page(html.encode(), "text/html", "http://a.example/")
        taken = time.process_time() - begun
        print(f"{name:32}{len(html) / 1e3:8.0f} kB{taken:8.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=Path, default=Path("build/debian-documents"))
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--against", type=Path, help="the folder src of another version")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read is not None:
        read_all(arguments.read)
        return

    pages = real_pages(arguments.documents, arguments.pages)
    size = sum(map(len, pages.values()))
    print(f"{len(pages)} pages, {size / len(pages) / 1e3:.1f} kB on average")
    with tempfile.TemporaryDirectory() as folder:
        for number, body in enumerate(pages.values()):
            (Path(folder) / f"{number:06}.html").write_bytes(body)
        sources = [SOURCE, *([] if arguments.against is None else [arguments.against])]
        # In turns, so that what else the machine does is the same for both.
        rounds = [[read_by(source, Path(folder)) for source in sources] for _ in range(3)]
    for source, answers in zip(sources, zip(*rounds, strict=True), strict=True):
        seconds = min(answer["seconds"] for answer in answers)
        print(f"{seconds / size * 5e7:8.2f} ms for 50 kB by {source}")
    if arguments.against is not None:
        ours, theirs = rounds[0]
        compare(list(pages), ours["found"], theirs["found"])
    hostile()


if __name__ == "__main__":
    main()
