"""A list of all pages, which another database takes."""

from dataclasses import replace

from pollwise.export import count_not_listed, export_collection
from pollwise.live.control import ask
from pollwise.live.requests import AddPages
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.web.url_list import read_url_list
from pollwise.web.urls import scope_of

URLS = [f"http://{host}.example/{n}" for host in "ab" for n in range(3)]
PAGES = [
    NewPage(URLS[0]),
    NewPage(URLS[1], weight=2.5, cost=3.0, longest_interval=86_400.0, shortest_interval=60.0),
    NewPage(URLS[2], tags=("news", "daily"), select=("main p", 'a[title="A B"]'), ignore=("nav",)),
    NewPage(URLS[3], render=True),
    NewPage(URLS[4], render=True, cost=1.0, name="Town hall"),
    NewPage(URLS[5], paused=True),
]


def test_a_list_brings_all_pages_into_another_database(tmp_path):
    one, other, path = tmp_path / "one.db", tmp_path / "other.db", tmp_path / "pages.txt"
    with Store.open(one) as store:
        pages = store.add_pages([replace(page, scope=scope_of(page.url)) for page in PAGES], 0.0)
    assert export_collection(one, path, now=0.0) == len(PAGES)
    ask(other, AddPages(tuple(read_url_list(path))), make=True, say=print)
    with Store.open_readonly(other) as store:
        again = [record.page for record in store.pages()]
    assert again == [replace(page, name="", paused=False) for page in pages]
    assert count_not_listed(one, path) == (1, 1)
