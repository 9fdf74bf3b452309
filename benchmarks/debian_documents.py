"""The HTML of Debian documentation packages, unpacked: real sites for a crawl without a network.

    python benchmarks/debian_documents.py FOLDER [--all]

downloads packages of Debian 12 (24 of 150 MB with 56,000 pages; --all: 35 of 490 MB with 137,000),
checks them against the index of the archive, and unpacks each into a folder of its own, unless it
is there already. The licences are those of the packages (free in Debian's sense; see
usr/share/doc/PACKAGE/copyright).
"""

import argparse
import hashlib
import io
import lzma
import re
import sys
import tarfile
import urllib.request
from pathlib import Path

ARCHIVE = "http://deb.debian.org/debian"
INDEX = f"{ARCHIVE}/dists/bookworm/main/binary-all/Packages.xz"

SMALL = [
    "apache2-doc",
    "cmake-doc",
    "cppreference-doc-en-html",
    "debian-policy",
    "debian-reference-en",
    "developers-reference",
    "fp-docs-3.2.2",
    "gap-doc",
    "jargon",
    "libboost1.81-doc",
    "libgtk-3-doc",
    "libreoffice-help-en-us",
    "libstdc++-12-doc",
    "llvm-14-doc",
    "maxima-doc",
    "octave-doc",
    "openjdk-17-doc",
    "postgresql-doc-15",
    "python-django-doc",
    "python-pandas-doc",
    "python3.11-doc",
    "r-doc-html",
    "sbcl-doc",
    "scala-doc",
]

LARGE = [
    "debian-handbook",
    "erlang-doc",
    "ghc-doc",
    "lazarus-doc-2.2",
    "linux-doc-6.1",
    "python-scipy-doc",
    "python-sklearn-doc",
    "python-sympy-doc",
    "qtbase5-doc-html",
    "rust-doc",
    "sagemath-doc",
]


def unpacked(folder: Path, packages: list[str]) -> list[Path]:
    """The folders of these packages, downloaded and unpacked where they are not there yet."""
    missing = [name for name in packages if not (folder / name).is_dir()]
    if missing:
        index = _index()
        for name in missing:
            path, digest = index[name]
            print(f"{name}: {ARCHIVE}/{path}", file=sys.stderr)
            _unpack(_download(f"{ARCHIVE}/{path}", digest), folder, name)
    return [folder / name for name in packages]


def _index() -> dict[str, tuple[str, str]]:
    """Path in the archive and SHA-256 of each package."""
    found = {}
    for paragraph in lzma.decompress(_download(INDEX)).decode().split("\n\n"):
        fields = dict(re.findall(r"^(Package|Filename|SHA256): (.*)$", paragraph, re.MULTILINE))
        if fields:
            found[fields["Package"]] = fields["Filename"], fields["SHA256"]
    return found


def _download(url: str, digest: str | None = None) -> bytes:
    with urllib.request.urlopen(url, timeout=300) as answer:
        data: bytes = answer.read()
    if digest is not None and hashlib.sha256(data).hexdigest() != digest:
        raise SystemExit(f"{url}: what was downloaded has another SHA-256 than the index says")
    return data


def _unpack(package: bytes, folder: Path, name: str) -> None:
    """Unpack the data of a Debian package (an ar archive, deb(5)); whole or not at all."""
    position = 8
    while position < len(package):
        header = package[position : position + 60]
        member, size = header[:16].decode().strip(" /"), int(header[48:58])
        position += 60
        if member.startswith("data.tar"):
            draft = folder / f".{name}"
            with tarfile.open(fileobj=io.BytesIO(package[position : position + size])) as archive:
                archive.extractall(draft, filter="tar")
            draft.rename(folder / name)
            return
        position += size + size % 2
    raise SystemExit(f"{name}: this Debian package has no data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="the large packages too")
    arguments = parser.parse_args()
    for folder in unpacked(arguments.folder, [*SMALL, *(LARGE if arguments.all else [])]):
        print(folder)


if __name__ == "__main__":
    main()
