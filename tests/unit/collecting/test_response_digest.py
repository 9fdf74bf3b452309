import pickle

import numpy as np
import pytest

from pollwise.collecting.response_digest import digest
from pollwise.collecting.response_processor import Response

PAGES = {
    "links": "<title>T</title><p>See <a href=b rel=nofollow>whales</a> and <a href=c>Caf\xe9</a>.",
    "no links": "<link rel=canonical href=/a><p>The whale sings.",
    "nothing": "",
}


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES.keys())
def test_a_digest_survives_the_way_from_a_worker(html):
    made = digest(Response(html.encode(), "text/html; charset=utf-8", "http://x.org/b/", "noindex"))
    again = pickle.loads(pickle.dumps(made))
    for name in ("title", "text", "simhash", "links", "noindex", "nofollow", "canonical"):
        assert getattr(again, name) == getattr(made, name)
    assert again.terms.terms == made.terms.terms
    assert again.terms.judgement == made.terms.judgement
    for name in ("hashes", "blocks", "block_of", "term_of", "counts"):
        own, other = getattr(made.terms, name), getattr(again.terms, name)
        assert own.dtype == other.dtype
        assert np.array_equal(own, other)
    assert all(type(link).__name__ == "Link" for link in again.links)
