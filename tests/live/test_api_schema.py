"""The API on a real port, asked what schemathesis makes up from its OpenAPI document."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from tests.unit.insight.a_watch import make_watch

from .answering import NOT_CHECKED, answering_for


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of a small watch."""
    db: Path = tmp_path_factory.mktemp("served") / "x.db"
    make_watch(db, time.time())
    with answering_for(db) as address:
        yield address


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
