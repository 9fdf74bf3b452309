"""What a collection learned of its topic, as the store keeps it."""

import io
import zipfile
import zlib
from typing import Any

import numpy as np

from pollwise.errors import StoreError
from pollwise.relevance.topic import Topic
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.store.base import StoreReader
from pollwise.types import StateDict

__all__ = ["FILTER_STATE", "pack_filter_state", "stored_filter"]

FILTER_STATE = "topic-filter"
"""The name by which the store keeps the state of the topic filter."""


def stored_filter(store: StoreReader, about: Topic) -> TopicFilter:
    """The topic filter with its stored state, or a new one if there is none.

    `StateError` if another version of pollwise wrote the state, `StoreError` if it is damaged.
    """
    made = TopicFilter(about)
    packed = store.state(FILTER_STATE)
    if packed is not None:
        try:
            with np.load(io.BytesIO(packed)) as arrays:
                state = {name: arrays[name] for name in arrays.files}
        except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise StoreError(
                f"{store.path}: the state of the topic filter is damaged ({error}): restore a copy"
            ) from error
        made.load_state_dict(state)
    return made


def pack_filter_state(state: StateDict) -> bytes:
    """The state of a topic filter as the store keeps it."""
    file = io.BytesIO()
    arrays: dict[str, Any] = dict(state)
    np.savez(file, **arrays)
    return file.getvalue()
