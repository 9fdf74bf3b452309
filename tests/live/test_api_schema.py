"""The API on a real port, asked what schemathesis makes up from its OpenAPI document."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from tests.unit.insight.a_watch import make_watch

from pollwise.dashboard.server import address_of, answer
from pollwise.dashboard.terms import AnsweringTerms

# What is told must fit more than a schema says: URLs, budgets, selectors.
NOT_CHECKED = [schemathesis.checks.positive_data_acceptance]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of a small watch, in a thread."""
    db: Path = tmp_path_factory.mktemp("served") / "x.db"
    make_watch(db, time.time())
    listener = socket.create_server(("127.0.0.1", 0))
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(answer(AnsweringTerms(db), listener, stop))
    )
    thread.start()
    address = address_of(listener)
    try:
        give_up_at = time.monotonic() + 100.0
        while requests.get(f"{address}/api/pages", timeout=30).status_code == 503:
            assert time.monotonic() < give_up_at
        yield address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def described(served: str) -> Any:
    return schemathesis.openapi.from_url(f"{served}/api/openapi.json")


def test_anything_may_be_asked(described: Any) -> None:
    for found in described.get_all_operations():

        @given(case=found.ok().as_strategy())
        @settings(
            max_examples=8,
            deadline=None,
            derandomize=True,  # benchmarks/fuzz_api.py looks further
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            case.call_and_validate(excluded_checks=NOT_CHECKED, timeout=30)

        ask()
