"""Polls of a few pages, with whatever the web may tell."""

from hypothesis import strategies as st

from pollwise.store.records import PollResult
from pollwise.types import Noise, Observation, Outcome, PageMemory, Version

NOW = 1.7e9
PAGES = 4

times = st.floats(NOW, NOW + 100.0)
texts = st.none() | st.sampled_from(["", "a", 'W/"é"', "\udcff", "nul \0", "\\u0000", "1", "1e3"])


@st.composite
def results(draw: st.DrawFn) -> PollResult:
    outcome = draw(st.sampled_from([Outcome.UNCHANGED] * 6 + list(Outcome)))
    page_id = draw(st.integers(0, PAGES - 1))
    at = draw(times | st.sampled_from([NOW + 1.0, NOW + 2.0]))
    seen = Observation(
        page_id,
        at,
        outcome,
        last_changed_at=draw(st.none() | st.floats(0.0, NOW)),
        n_items=draw(st.none() | st.integers(0, 9)),
        cost=draw(st.sampled_from([1.0, 0.25, 0.1])),
        reverted=outcome is Outcome.CHANGED and draw(st.booleans()),
    )
    memory = PageMemory(
        etag=draw(texts),
        last_modified=draw(texts),
        body_hash=draw(st.sampled_from(["one", "two"])),
        text_hash=draw(st.none() | st.just("text")),
        noise=draw(st.sampled_from([Noise(), Noise(changes_in_a_row=2)])),
        items=draw(st.sampled_from([(), ("i", "j")])),
        earlier_hashes=draw(st.sampled_from([(), ("three", "four")])),
    )
    version = None
    if outcome is Outcome.CHANGED:
        version = Version(page_id, at, "text/html", b"<p>", memory.body_hash or "")
    return PollResult(
        seen,
        memory,
        version,
        error=draw(st.none() | texts),
        title=draw(texts),
        source=draw(st.none() | st.just("feed")),
    )
