"""A small watch and a collection, answered for."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from starlette.applications import Starlette
from tests.unit.dashboard.asked import Told, ask
from tests.unit.insight.a_collection import make_collection
from tests.unit.insight.a_watch import make_watch

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms

Ask = Callable[..., Awaitable[Told]]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    make_watch(path, time.time())
    return path


@pytest.fixture
def collection_db(tmp_path: Path) -> Path:
    path = tmp_path / "sea.db"
    make_collection(path)
    return path


@pytest.fixture
async def answers(db: Path) -> AsyncIterator[Answers]:
    async with Answers(db) as made:
        yield made


@pytest.fixture
def app(answers: Answers) -> Starlette:
    return application(answers, AnsweringTerms(answers.db), None)


@pytest.fixture
def asking(app: Starlette) -> Ask:
    """Asks, and again as long as the database is being read for the first time."""

    async def patiently(method: str, target: str, **more: object) -> Told:
        give_up_at = time.monotonic() + 60.0
        while True:
            answer = await ask(app, method, target, **more)  # type: ignore[arg-type]
            if answer.status != 503 or time.monotonic() > give_up_at:
                return answer

    return patiently
