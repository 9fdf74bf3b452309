"""The order of results by language."""

import pytest

from pollwise.search.ordering import BLOCK, search_in_order
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory

ENGLISH = "The whale is in the sea, and it is not a fish: whale number {}."
GERMAN = "Der whale ist im Meer, und er ist nicht mit dem Fisch verwandt: whale whale {}."


def collection(path, texts, relevances):
    with Store.open(path) as store:
        urls = [f"http://sea.example/{n}" for n in range(len(texts))]
        store.add_pages([NewPage(url, "sea.example") for url in urls], now=1.0)
        store.start_run(2.0, {}, None)
        polls = [
            PollResult(Observation(n, 5.0, Outcome.CHANGED), PageMemory())
            for n in range(len(texts))
        ]
        found = [
            Discoveries(collected=Collected(n, relevance, "", text.format(n)))
            for n, (text, relevance) in enumerate(zip(texts, relevances, strict=True))
        ]
        store.commit(Batch(polls=tuple(polls), discovered=tuple(found)))
    return path


@pytest.fixture
def db(tmp_path):
    """The German pages fit the word better, the English ones are about the topic."""
    return collection(tmp_path / "sea.db", [GERMAN, ENGLISH] * 40, [0.3, 0.4] * 40)


def found(db, query, limit, offset=0):
    with Store.open_readonly(db) as store:
        return [hit.page_id for hit in search_in_order(store, query, limit, offset)]


@pytest.mark.parametrize(("query", "first"), [("whale", 1), ("der OR whale OR und OR ist", 0)])
def test_the_language_of_the_query_or_topic_comes_first(tmp_path, query, first):
    db = collection(tmp_path / "sea.db", [GERMAN, ENGLISH] * 10, [0.3, 0.4] * 10)
    pages = found(db, query, 20)
    assert sorted(pages) == list(range(20))
    assert {page_id % 2 for page_id in pages[:10]} == {first}


def test_pages_of_an_answer_fit_together(db):
    whole = found(db, "whale", 80)
    assert sorted(whole) == list(range(80))
    parts = [found(db, "whale", 10, offset) for offset in range(0, 80, 10)]
    assert [page_id for part in parts for page_id in part] == whole
    assert found(db, "whale", 20, BLOCK - 10) == whole[BLOCK - 10 : BLOCK + 10]
    assert found(db, "whale", 10, 80) == []
