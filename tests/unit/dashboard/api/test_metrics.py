"""Metrics, as Prometheus reads them."""

import asyncio
import math
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.insight.a_watch import URLS

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api import metrics
from pollwise.dashboard.application import application
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.insight.snapshot import Snapshot
from pollwise.store import Store
from pollwise.store.records import NewPage

from ..asked import patient
from ..some_figures import FIGURES


async def scraped(asking: Any) -> dict[tuple[str, str], float]:
    """The value of each sample by its name and the value of its label."""
    for _ in range(100):
        answer = await asking("GET", "/metrics")
        assert answer.status == 200
        families = list(text_string_to_metric_families(answer.body.decode()))
        assert all(one.documentation for one in families)
        samples = [sample for one in families for sample in one.samples]
        found = {(one.name, next(iter(one.labels.values()), "")): one.value for one in samples}
        assert len(found) == len(samples)
        if ("pollwise_latest_change", "") in found:
            return found
    raise AssertionError("the database was never counted")


async def test_the_database_in_figures(asking: Any, db: Path):
    found = await scraped(asking)
    assert found["pollwise_polling", ""] == 0.0
    with Store.open_readonly(db) as store:
        totals = store.totals()
    pages = {label: value for (name, label), value in found.items() if name == "pollwise_pages"}
    assert sum(pages.values()) == totals.pages == len(URLS)
    assert pages["paused"] == pages["failing"] == 1
    assert found["pollwise_database_size_bytes", "all"] == totals.bytes
    assert 0 < found["pollwise_expected_freshness_ratio", ""] <= 1
    assert 0 < found["pollwise_measured_freshness_ratio", "middle"] <= 1
    assert found["pollwise_pages_due", ""] <= totals.pages - 1
    assert all(math.isfinite(value) for value in found.values())
    assert ("pollwise_polls_total", "changed") not in found  # nobody polls


async def test_the_run_in_figures(asking: Any, answers: Answers):
    answers.figures = FIGURES
    found = await scraped(asking)
    assert found["pollwise_polling", ""] == 1.0
    assert found["pollwise_polls_total", "unchanged"] == 5.0
    assert found["pollwise_polls_total", "changed"] == found["pollwise_changes_total", ""] == 2.0
    assert found["pollwise_polls_total", "first_copy"] == 1.0
    assert found["pollwise_polls_total", "postponed"] == 1.0
    assert found["pollwise_requests_total", "4xx"] == 3.0
    assert found["pollwise_received_bytes_total", ""] == 12_345.0
    assert found["pollwise_spent_cost_units_total", ""] == 11.5
    assert found["pollwise_budget_cost_units_per_second", ""] == 0.25
    assert found["pollwise_loop_lag_seconds", ""] == 0.01
    assert ("pollwise_price", "") not in found  # it has none


async def test_a_scraper_that_comes_seldom_gets_figures_of_now(
    db: Path, monkeypatch: pytest.MonkeyPatch
):
    count = metrics._counted

    def slowly(snapshot: Snapshot) -> Any:
        time.sleep(0.5)
        return count(snapshot)

    monkeypatch.setattr(metrics, "_counted", slowly)
    monkeypatch.setattr(metrics, "_OLDEST", 0.1)
    async with Answers(db) as answers:
        asking = patient(application(answers, AnsweringTerms(db), None))
        await scraped(asking)
        with Store.open(db) as store:
            store.add_pages([NewPage("http://c.example/")], now=time.time())
        await asyncio.sleep(0.2)
        found = await scraped(asking)
    assert found["pollwise_pages", "new"] == 2.0


async def test_it_speaks_openmetrics(asking: Any, answers: Answers):
    answers.figures = FIGURES
    accept = "application/openmetrics-text; version=1.0.0"
    answer = await asking("GET", "/metrics", accept=accept)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert "pollwise_polls" in {one.name for one in read_openmetrics(answer.body.decode())}


@pytest.mark.parametrize("accept", ["text/plain", "", "text/html", "nonsense;;q=x"])
async def test_any_client_gets_text(asking: Any, accept: str):
    answer = await asking("GET", "/metrics", accept=accept)
    assert (answer.status, answer.headers["content-type"][:10]) == (200, "text/plain")
