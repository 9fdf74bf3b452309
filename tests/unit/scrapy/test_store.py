import pytest

from pollwise.errors import StoreError, StoreInUseError, StoreVersionError
from pollwise.scrapy.store import Copy, CrawlStore

PAGE = "https://example.org/"
COPY = Copy(PAGE, '"1"', None, "abc", taken=True)


@pytest.fixture
def store(tmp_path):
    store = CrawlStore(tmp_path / "crawl.db")
    yield store
    store.close()


def test_copies_and_templates_are_there_again(store, tmp_path):
    assert store.copy(PAGE) is None
    store.put_copy(PAGE, COPY._replace(content="older"))
    store.put_copy(PAGE, COPY)
    store.put_templates({PAGE: b"one", PAGE + "b": b"two"})
    store.close()
    store.close()
    again = CrawlStore(tmp_path / "crawl.db")
    assert again.copy(PAGE) == COPY
    assert again.template(PAGE) == b"one"
    assert again.template("https://example.org/other") is None
    assert again.pages() == [PAGE, PAGE + "b"]
    again.close()


def test_a_copy_may_be_given_back(store):
    store.give_back(PAGE)
    store.put_copy(PAGE, COPY)
    store.give_back(PAGE)
    assert store.copy(PAGE) == COPY._replace(taken=False)


def test_pages_are_forgotten(store):
    store.put_copy(PAGE, COPY)
    store.put_templates({PAGE: b"one", PAGE + "b": b"two"})
    store.forget([PAGE, "https://example.org/unknown"])
    assert store.copy(PAGE) is None
    assert store.pages() == [PAGE + "b"]


def test_files_that_are_not_taken(store, tmp_path):
    with pytest.raises(StoreInUseError):
        CrawlStore(tmp_path / "crawl.db")
    foreign = tmp_path / "foreign.db"
    foreign.write_text("hello" * 1000)
    with pytest.raises(StoreError, match="is not a database"):
        CrawlStore(foreign)
    store.write("PRAGMA user_version = 2")
    store.close()
    with pytest.raises(StoreVersionError):
        CrawlStore(tmp_path / "crawl.db")
    store = CrawlStore(tmp_path / "other.db")
    store.write("PRAGMA application_id = 7")
    store.close()
    with pytest.raises(StoreError, match="is no file of a crawl by Scrapy: choose another file"):
        CrawlStore(tmp_path / "other.db")
