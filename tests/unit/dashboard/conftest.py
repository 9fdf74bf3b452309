"""A small watch and a collection, answered for."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from tests.unit.dashboard.asked import Ask, patient
from tests.unit.insight.a_collection import make_collection
from tests.unit.insight.a_watch import make_watch

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms


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
    return patient(app)
