"""The crawl data set of *Optimal Freshness Crawl Under Politeness Constraints* as a trace.

A. Kolobov, E. Lubetzky, Y. Peres, E. Horvitz (SIGIR 2019): some 18 million URLs, each crawled
about once a day for 14 weeks of 2017, and whether it had changed since the crawl before. The
README of github.com/microsoft/Optimal-Freshness-Crawl-Scheduling gives the columns of its files,
which are tables with tabs between the columns:

    urlid_offset_history.txt   URL_ID, First_crawl_time_offset (days since the collection began),
                               Crawl_and_change_history: [[days since the crawl before, 1 if
                               changed else 0], ...]
    urlid_imp.txt              URL_ID, Importance_score; needed for weights only
    url_urlid_hostid.txt       URL, URL_ID, Host_ID; names pages and sites, if it is there

A change is known only to lie between two crawls: it is taken to happen at the later one, as in
archives. Times are seconds since the collection began. A page is born with its first crawl. All of
the data takes more memory than most machines have; the first lines of a file are enough (its
authors used 100,000).
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pollwise.errors import TraceError
from pollwise.kinds import kind_of
from pollwise.metrics import Changes
from pollwise.simulation.recorded.trace import Trace
from pollwise.units import DAY

__all__ = ["is_crawl_log", "read_crawl_log"]

_HISTORY_FILE = "urlid_offset_history.txt"
_WEIGHTS_FILE = "urlid_imp.txt"
_NAMES_FILE = "url_urlid_hostid.txt"


def is_crawl_log(path: Path) -> bool:
    """Whether a path is the data set: its file of histories, or the folder where that lies."""
    return path.name == _HISTORY_FILE or (path / _HISTORY_FILE).is_file()


def read_crawl_log(path: Path, *, weighted: bool = False) -> Trace:
    """Read the data set at a path; `TraceError` names the file, the line and the remedy."""
    folder = path.parent if path.name == _HISTORY_FILE else path
    path = folder / _HISTORY_FILE
    ids, born, ends = [], [], []
    times = []
    for number, (url_id, offset, history) in _lines(path, 3):
        crawls = _crawls(path, number, offset, history)
        changed = crawls[1:, 1] == 1
        at = np.cumsum(crawls[:, 0]) * DAY
        ids.append(url_id)
        born.append(at[0])
        ends.append(at[-1])
        times.append(at[1:][changed])
    if not ids:
        raise TraceError(f"{path}: no lines; keep at least one URL")
    if len(set(ids)) < len(ids):
        twice = next(one for one in ids if ids.count(one) > 1)
        raise TraceError(f"{path}: URL_ID {twice} has two lines; keep one")
    weights = _read_weights(folder / _WEIGHTS_FILE, ids) if weighted else None
    names, sites = _read_names(folder / _NAMES_FILE, ids)
    changes = Changes.of(times, np.array(born), np.full(len(ids), math.inf))
    return Trace(names, sites, [kind_of(name) for name in names], weights, changes, max(ends))


def _lines(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line, counted from 1; a line of headings is left out."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                cells = line.rstrip("\r\n").split("\t")
                if len(cells) != columns:
                    raise TraceError(
                        f"{path}, line {number}: {len(cells)} columns, expected {columns} with tabs"
                        " between them"
                    )
                if number > 1 or "URL_ID" not in cells:
                    yield number, cells
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror or error}); put it into the folder"
        ) from error


def _crawls(path: Path, number: int, offset: str, history: str) -> np.ndarray:
    """The crawls of a URL: days since the one before (or the beginning), and 1 for a change."""
    try:
        crawls = np.array([[float(offset), 0.0], *json.loads(history)], np.float64)
        usable = crawls.ndim == 2 and crawls.shape[1] == 2 and bool(np.isfinite(crawls).all())
    except (TypeError, ValueError):
        usable = False
    if not usable:
        raise TraceError(
            f"{path}, line {number}: not a crawl history; expected URL_ID, days, and pairs such as"
            " [[1.1, 0], [1.5, 1]]"
        )
    if crawls[0, 0] < 0 or (crawls[1:, 0] <= 0).any():
        raise TraceError(
            f"{path}, line {number}: the crawls are not in the order of time; each must be more"
            " than 0 days after the one before"
        )
    if not np.isin(crawls[:, 1], (0.0, 1.0)).all():
        raise TraceError(f"{path}, line {number}: a change is neither 0 nor 1; correct it")
    return crawls


def _read_weights(path: Path, ids: list[str]) -> np.ndarray:
    wanted = set(ids)
    weights = {}
    for number, (url_id, score) in _lines(path, 2):
        if url_id not in wanted:
            continue
        try:
            weight = float(score)
        except ValueError:
            weight = math.nan
        if not 0 <= weight < math.inf:
            raise TraceError(
                f"{path}, line {number}: the importance {score!r} is no number of at least 0;"
                " correct it"
            )
        weights[url_id] = weight
    missing = next((url_id for url_id in ids if url_id not in weights), None)
    if missing is not None:
        raise TraceError(f"{path}: no importance for URL_ID {missing}; add it or drop the URL")
    return np.array([weights[url_id] for url_id in ids])


def _read_names(path: Path, ids: list[str]) -> tuple[list[str], list[str]]:
    """The URLs and hosts; without the file, the ids and no hosts."""
    if not path.is_file():
        return ids, [""] * len(ids)
    wanted = set(ids)
    found = {url_id: (url, host) for _, (url, url_id, host) in _lines(path, 3) if url_id in wanted}
    pairs = [found.get(url_id, (url_id, "")) for url_id in ids]
    return [url for url, _ in pairs], [host for _, host in pairs]
