"""The overview says that hosts cannot take the budget, and that all pages are paused."""

import asyncio
import time

import pytest
from tests.unit.insight.a_watch import URLS, make_watch

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.store import Store
from pollwise.store.records import NewPage

from .browsed import browsed


@pytest.mark.parametrize(("budget", "is_told"), [("1/second", True), ("9/hour", False)])
async def test_hosts_that_cannot_take_the_budget_are_told(tmp_path, budget, is_told):
    db = tmp_path / "x.db"
    make_watch(db, time.time())
    with Store.open(db) as store:
        store.change_settings({"budget": budget})
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            status, _, text = await ask("/")
            while "is being worked out" in text:
                await asyncio.sleep(0.1)
                status, _, text = await ask("/")
            _, _, forecast = await ask("/forecast?step=30")
    assert status == 200
    for shown in (text, forecast):
        assert ("a.example 400 polls an hour (a pause of 9 s)" in shown) == is_told
        assert ("a larger budget brings nothing there" in shown) == is_told


async def test_of_pages_that_are_all_paused_it_says_why_nothing_is_foretold(tmp_path):
    db = tmp_path / "x.db"
    make_watch(db, time.time())
    with Store.open(db) as store:
        store.add_pages([NewPage(url, paused=True) for url in URLS], now=time.time())
    async with Answers(db) as answers:
        app = application(answers, AnsweringTerms(db), None)
        async with browsed(app, "/pages") as ask:
            status, _, text = await ask("/")
            while "is being worked out" in text:
                await asyncio.sleep(0.1)
                status, _, text = await ask("/")
    assert status == 200
    assert "All pages are paused: nothing is foretold." in text
    assert "Too early" not in text
