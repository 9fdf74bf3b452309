"""SQLite without locks reads what it reads with them."""

import multiprocessing
import sys
from pathlib import Path

from pollwise.store import Store
from pollwise.store.records import PageRecord
from pollwise.store.sqlite.one_thread import lock_no_threads

from ..odd_pages import add_odd_pages


def read_without_locks(path: Path) -> tuple[bool, list[PageRecord], bool]:
    took_effect = lock_no_threads()
    with Store.open_readonly(path) as store:
        return took_effect, store.pages(), store.has_learned()


def test_it_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with Store.open(path) as store:
        add_odd_pages(store)
        pages = store.pages()
    with multiprocessing.get_context("spawn").Pool(1) as other:
        took_effect, *read = other.apply(read_without_locks, (path,))
    assert read == [pages, True]
    assert took_effect or sys.platform != "linux"
