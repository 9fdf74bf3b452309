"""SQLite without locks reads what it reads with them."""

import pickle
import subprocess
import sys
from pathlib import Path

from pollwise.store import Store

from ..odd_pages import add_odd_pages

READING = """
import pickle, sys
from pathlib import Path
from pollwise.store import Store
from pollwise.store.sqlite.one_thread import lock_no_threads
took_effect = lock_no_threads()
with Store.open_readonly(Path(sys.argv[1])) as store:
    read = took_effect, store.pages(), store.has_learned()
sys.stdout.buffer.write(pickle.dumps(read))
"""


def test_it_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with Store.open(path) as store:
        add_odd_pages(store)
        pages = store.pages()
    command = [sys.executable, "-c", READING, str(path)]
    told = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    took_effect, *read = pickle.loads(told)
    assert read == [pages, True]
    assert took_effect or sys.platform != "linux"
