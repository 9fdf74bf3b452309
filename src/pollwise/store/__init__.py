"""What lasts from one run to the next: pages, what was learned of them, what happened.

It is in one SQLite file, or in a PostgreSQL database; `base` has the contract.

>>> import tempfile, pathlib
>>> from pollwise.store.records import NewPage
>>> folder = tempfile.TemporaryDirectory()
>>> with Store.open(pathlib.Path(folder.name) / "pollwise.db") as store:
...     [page] = store.add_pages([NewPage("https://example.org/", "example.org")], now=0.0)
...     store.find_page("https://example.org/").page == page
True
>>> folder.cleanup()
"""

from pollwise.store.place import Place
from pollwise.store.store import Requester, Store, split_database

__all__ = ["Place", "Requester", "Store", "split_database"]
