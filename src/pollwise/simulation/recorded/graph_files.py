"""The files of recorded hyperlink graphs.

A graph DIR/G, such as DIR/debdocs, lies in these files:

G.pages.tsv.xz
    id, host, path, title (with a header line), ids 0, 1, 2, ...; page 0 is an artificial start.
    The title is unknown to a crawler before it fetches the page, so it is not read.
G.anchors.txt.xz
    One anchor text a line, perhaps empty; no line feed follows the last one. The line number,
    from 0, is the anchor's id.
G.links.xz
    int32 n, int32 m, then four arrays of int32, each as four planes of bytes (all lowest bytes
    first): the number of links of each page (n); for each link its target minus that of the link
    before it, or minus the page's own id for the first (m); the usual anchor of each target, -1 for
    none (n); for each link 0 if it has the usual anchor of its target, else the anchor's id + 1
    (m). Links are in document order, one for each page and target.
G.relevance.TOPIC-TOPIC.tsv.gz
    id and a column for each topic; only pages relevant to at least one. Relevance is a
    cosine of tf-idf vectors above a floor, scaled to at most 1.

Two such graphs were recorded: debdocs has the HTML pages of 35 Debian documentation packages,
wikispeedia the articles of "Wikipedia for Schools" (R. West, J. Pineau, D. Precup: Wikispeedia,
IJCAI 2009; R. West, J. Leskovec, WWW 2012), whose anchors are the titles of the targets.
"""

import gzip
import lzma
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError

__all__ = ["GraphFiles"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MEND = "it is cut or damaged, fetch it again"
_NO_ANCHOR = -1


@dataclass(frozen=True, slots=True, eq=False)
class GraphFiles:
    """What the files of a graph say.

    `hosts` and `paths` by page id; the links of page i are rows `offsets[i]` up to `offsets[i + 1]`
    (exclusive) of `targets` and `anchor_ids`; `anchors` are texts by anchor id; `relevance` has an
    array by page id for each topic.
    """

    hosts: Sequence[str]
    paths: Sequence[str]
    offsets: Ints
    targets: Ints
    anchor_ids: Ints
    anchors: Sequence[str]
    relevance: Mapping[str, Floats]

    @classmethod
    def read(cls, prefix: Path) -> "GraphFiles":
        """Read and check all; `InputError` names the file that is missing or damaged."""
        hosts, paths = _read_pages(_file(prefix, "pages.tsv.xz"))
        anchors = _text(_file(prefix, "anchors.txt.xz")).split("\n")
        tables = sorted(prefix.parent.glob(f"{prefix.name}.relevance.*.tsv.gz"))
        if not tables:
            raise InputError(
                f"no graph {prefix}: there is no file {prefix.name}.relevance.*.tsv.gz beside its"
                " other files; fetch it as well"
            )
        relevance: dict[str, Floats] = {}
        for table in tables:
            relevance |= _read_relevance(table, len(hosts))
        links = _file(prefix, "links.xz")
        offsets, targets, anchor_ids = _read_links(links, len(hosts), len(anchors))
        # An anchor that was not recorded is an empty text.
        anchor_ids[anchor_ids == _NO_ANCHOR] = len(anchors)
        return cls(hosts, paths, offsets, targets, anchor_ids, [*anchors, ""], relevance)


def _file(prefix: Path, ending: str) -> Path:
    path = prefix.with_name(f"{prefix.name}.{ending}")
    if not path.is_file():
        raise InputError(
            f"no graph {prefix}: there is no file {path}; give the place of its files without"
            " their endings, such as DIR/debdocs"
        )
    return path


def _bytes(path: Path) -> bytes:
    """The whole file, decompressed."""
    decompress = lzma.decompress if path.suffix == ".xz" else gzip.decompress
    try:
        return decompress(path.read_bytes())
    except (lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: {error}: {_MEND}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; make it readable") from error


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason}): {_MEND}") from error


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The heading of a table and its rows, all as wide as the heading."""
    heading, *lines = _text(path).rstrip("\n").split("\n")
    columns = heading.split("\t")
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(columns):
            raise InputError(
                f"{path}: line {number} has {len(row)} columns, its heading {len(columns)}: {_MEND}"
            )
    return columns, rows


def _read_pages(path: Path) -> tuple[list[str], list[str]]:
    columns, rows = _rows(path)
    if columns[:3] != ["id", "host", "path"] or not rows:
        raise InputError(f"{path}: expected a heading id, host, path and a page at least: {_MEND}")
    if [row[0] for row in rows] != list(map(str, range(len(rows)))):
        raise InputError(f"{path}: the ids must be 0 to {len(rows) - 1} in this order: {_MEND}")
    return [row[1] for row in rows], [row[2] for row in rows]


def _read_relevance(path: Path, pages: int) -> dict[str, Floats]:
    columns, rows = _rows(path)
    try:
        ids = np.array([row[0] for row in rows], np.str_).astype(np.int64)
        values = np.array([row[1:] for row in rows], np.str_).astype(np.float64)
    except ValueError as error:
        raise InputError(f"{path}: {error}: {_MEND}") from error
    if columns[0] != "id" or len(columns) < 2 or not rows:
        raise InputError(f"{path}: expected a heading id, TOPIC and a page at least: {_MEND}")
    if not (ids.min() >= 0 and ids.max() < pages and values.min() >= 0 and values.max() <= 1):
        raise InputError(
            f"{path}: ids must be from 0 to {pages - 1}, relevance from 0 to 1: {_MEND}"
        )
    relevance = np.zeros((pages, len(columns) - 1))
    relevance[ids] = values
    return {topic: relevance[:, row].copy() for row, topic in enumerate(columns[1:])}


def _read_links(path: Path, pages: int, anchors: int) -> tuple[Ints, Ints, Ints]:
    """Offsets, targets and anchor ids."""
    content = _bytes(path)
    n, m = np.frombuffer(content, "<i4", 2).tolist() if len(content) >= 8 else (-1, -1)
    if n != pages or m < 0 or len(content) != 8 * (1 + n + m):
        raise InputError(f"{path}: {len(content)} bytes, which do not fit {pages} pages: {_MEND}")
    planes = np.frombuffer(content, np.uint8, offset=8)
    arrays, place = [], 0
    for count in (n, m, n, m):
        bytes_of = planes[place : place + 4 * count].reshape(4, count).T.copy()
        arrays.append(bytes_of.view("<i4").ravel().astype(np.int64))
        place += 4 * count
    degrees, deltas, usual, codes = arrays
    if degrees.min() < 0 or degrees.sum() != m:
        raise InputError(f"{path}: the numbers of links do not add up to {m}: {_MEND}")
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    sums = np.concatenate([[0], np.cumsum(deltas)])
    targets = sums[1:] + np.repeat(np.arange(n) - sums[offsets[:-1]], degrees)
    if m and not (targets.min() >= 0 and targets.max() < pages):
        raise InputError(f"{path}: a link leads to no page: {_MEND}")
    anchor_ids = np.where(codes == 0, usual[targets], codes - 1)
    if m and not (anchor_ids.min() >= _NO_ANCHOR and anchor_ids.max() < anchors):
        raise InputError(f"{path}: a link has an anchor that is not listed: {_MEND}")
    return offsets, targets, anchor_ids
