"""Pages by their latest polls."""

from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.collecting.oldest import OldestFirst

_ACTS = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "block", "unblock"]),
        st.integers(0, 5),
        st.integers(0, 9),
    ),
    max_size=40,
)


@given(_ACTS)
def test_the_oldest_of_the_scopes_that_are_not_blocked_comes_first(acts):
    pages = OldestFirst()
    there: dict[int, float] = {}
    blocks = dict.fromkeys("ab", 0)
    for act, page_id, time in acts:
        scope = "ab"[page_id % 2]
        if act == "add":
            pages.add(page_id, scope, float(time))
            there[page_id] = float(time)
        elif act == "remove":
            pages.remove(page_id)
            there.pop(page_id, None)
        elif act == "block":
            pages.block(scope)
            blocks[scope] += 1
        elif blocks[scope]:
            pages.unblock(scope)
            blocks[scope] -= 1
        free = [(time, page) for page, time in there.items() if not blocks["ab"[page % 2]]]
        assert pages.first() == (min(free)[1] if free else None)
