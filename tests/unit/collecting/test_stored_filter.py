"""The topic filter of a database is as it was when its state was kept last."""

from pathlib import Path

import pytest

from pollwise.collecting.stored_filter import FILTER_STATE, pack_filter_state, stored_filter
from pollwise.errors import StoreError
from pollwise.relevance.parsed_text import parse_text
from pollwise.relevance.topic import topic
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.store import Store
from pollwise.store.records import Batch

WHALES = topic("blue whales", ["The whale sings."])


def test_a_filter_goes_on_from_its_kept_state(tmp_path: Path) -> None:
    learned = TopicFilter(WHALES)
    for number in range(20):
        text = f"The whale sings of krill, verse {number}." if number % 2 else "Ships and ports."
        learned.observe(f"host{number}", parse_text([text]))
    with Store.open(tmp_path / "pollwise.db") as store:
        assert stored_filter(store, WHALES).topic_vector == TopicFilter(WHALES).topic_vector
        store.commit(Batch(states={FILTER_STATE: pack_filter_state(learned.state_dict())}))
        vector = stored_filter(store, WHALES).topic_vector
    assert vector == learned.topic_vector
    assert vector["krill"] > 0
    assert sum(weight**2 for weight in vector.values()) == pytest.approx(1)


@pytest.mark.parametrize("damage", [b"", b"garbage", b"PK\x03\x04", "cut", "flipped"])
def test_a_damaged_state_is_one_line(tmp_path: Path, damage: bytes | str) -> None:
    state = bytearray(pack_filter_state(TopicFilter(WHALES).state_dict()))
    if damage == "cut":
        del state[len(state) // 2 :]
    elif damage == "flipped":
        state[state.index(b'"whale"')] ^= 0xFF
    else:
        state = bytearray(damage)
    with Store.open(tmp_path / "pollwise.db") as store:
        store.commit(Batch(states={FILTER_STATE: bytes(state)}))
        with pytest.raises(StoreError, match="the state of the topic filter is damaged") as raised:
            stored_filter(store, WHALES)
    assert "\n" not in str(raised.value)
