"""`GET /metrics`: how the run and its database stand, for Prometheus.

All metrics are made anew for each scrape, from the figures that the process that polls told last
and from the snapshot of the database, which is read anew for a scrape if it is old. That and what
takes long to count happens beside: a scrape waits some seconds for it and gets what is known by
then, so it takes no longer for many pages.
"""

import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers, GettingReadyError
from pollwise.dashboard.kept import Kept
from pollwise.insight.forecasts import Expectation
from pollwise.insight.measured import Measured, measured_of
from pollwise.insight.snapshot import Snapshot
from pollwise.live.run_figures import RunFigures
from pollwise.store import Store
from pollwise.units import DAY
from pollwise.version import __version__

__all__ = ["metric_routes"]

_NAMED_HOSTS = 10
"""Hosts that are named: each name is a time series of its own."""
_DAYS = 7.0
"""What was really found and fresh is told of so many days."""
_FIRST_PATIENCE = 2.0
"""Seconds that the first scrape waits for counts."""
_OLDEST = 10.0
"""Seconds; older counts are made anew for a scrape."""
_PATIENCE = 3.0
"""Seconds that a scrape waits for that: by default Prometheus waits for 10."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """What is counted in a snapshot; what only a watch has is None for others."""

    snapshot: Snapshot
    states: Mapping[str, int]
    due: int | None = None
    overdue: int | None = None
    waits: tuple[tuple[str, float], ...] = ()
    """The hosts that are left alone, and the seconds for which they are; the longest first."""
    expected: Expectation | None = None
    measured: Measured | None = None


def metric_routes(answers: Answers) -> list[Route]:
    """The metrics."""
    kept = Kept(answers, _counted, first_patience=_FIRST_PATIENCE)

    async def metrics(request: Request) -> Response:
        try:
            counts = await kept.latest(oldest=_OLDEST, patience=_PATIENCE)
        except GettingReadyError:
            counts = None
        made = _Made(_metrics(counts, answers.figures))
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        registry = CollectorRegistry()
        registry.register(made)
        return Response(encode(registry), media_type=content_type)

    return [Route("/metrics", metrics)]


class _Made(Collector):
    """Metrics that are there already, as a registry wants them."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = tuple(metrics)

    def collect(self) -> Iterable[Metric]:
        """See `Collector`."""
        return self._metrics


def _counted(snapshot: Snapshot) -> _Counts:
    states = {state.value: number for state, number in snapshot.table.states.items()}
    known = snapshot.known
    if known is None:
        return _Counts(snapshot, states)
    scheduler, now = known.scheduler, known.now
    active = np.array([not record.page.paused for record in snapshot.records])
    latest = np.array([scheduler.bounds.deadline(record.page.id) for record in snapshot.records])
    scopes = {record.page.scope: record.page.id for record in snapshot.records}
    shared = {scheduler.scope_of(page_id): scope for scope, page_id in scopes.items()}
    waits = {name: scheduler.host_free_at(scope, now) - now for name, scope in shared.items()}
    longest = sorted(waits.items(), key=lambda wait: -wait[1])
    with Store.open_readonly(snapshot.database) as store:
        measured = measured_of(known, store, _DAYS)
    return _Counts(
        snapshot,
        states,
        due=int((active & (known.estimates["due_at"] <= now)).sum()),
        overdue=int((active & (latest <= now)).sum()),
        waits=tuple((name, wait) for name, wait in longest if wait > 0),
        expected=known.forecaster.expect(known.rate) if known.evidence.suffices else None,
        measured=measured,
    )


def _metrics(counts: _Counts | None, figures: RunFigures | None) -> Iterator[Metric]:
    build = {"version": __version__, "python": platform.python_version()}
    yield InfoMetricFamily("pollwise_build", "This version of pollwise.", build)
    polling = "Whether a process polls beside the one that answers (1), or none (0)."
    yield GaugeMetricFamily("pollwise_polling", polling, float(figures is not None))
    if figures is not None:
        yield from _of_run(figures)
    if counts is None:
        return
    yield from _of_database(counts.snapshot)
    yield _labelled("pollwise_pages", "Pages, by how they stand.", "state", counts.states)
    yield from _of_watch(counts)


def _of_run(figures: RunFigures) -> Iterator[Metric]:
    outcomes = "Polls since the run began, by outcome; first copies are no changes."
    polls = CounterMetricFamily("pollwise_polls", outcomes, labels=["outcome"])
    first_copies = figures.polls["changed"] - figures.changes
    counts = {**figures.polls, "changed": figures.changes, "first_copy": first_copies}
    for outcome, number in sorted(counts.items()):
        polls.add_metric([outcome], number)
    yield polls
    answered = "HTTP requests since the run began, by the class of their status, or none."
    requests = CounterMetricFamily("pollwise_requests", answered, labels=["status"])
    for status, number in figures.answers.items():
        requests.add_metric([status], number)
    yield requests
    counters: tuple[tuple[str, str, float], ...] = (
        ("changes", "Changes found since the run began.", figures.changes),
        ("received_bytes", "Bytes that came over the wire.", figures.bytes_received),
        ("spent_cost_units", "Cost units of the budget that polls took.", figures.spent),
        (
            "host_wait_seconds",
            "Seconds that requests waited for their hosts.",
            figures.wait_seconds,
        ),
    )
    for name, meaning, count in counters:
        yield CounterMetricFamily(f"pollwise_{name}", meaning, count)
    gauges: tuple[tuple[str, str, float], ...] = (
        ("run_start_timestamp_seconds", "When the run began.", figures.started_at),
        ("run_figures_timestamp_seconds", "When the run told of itself last.", figures.at),
        ("polls_under_way", "Polls that have begun and not ended.", figures.under_way),
        ("first_copies_waiting", "Pages that wait for their first copy.", figures.first_copies),
        ("hosts", "Hosts that were polled, or wanted something.", figures.hosts),
        ("hosts_in_line", "Hosts with pages that wait for them.", figures.hosts_in_line),
        ("budget_cost_units_per_second", "The budget.", figures.rate),
        ("loop_lag_seconds", "How late the event loop of the run is.", figures.loop_lag),
        ("commit_duration_seconds", "How long the latest commit took.", figures.commit_seconds),
        ("quiet", "Whether no poll may begin, as these are quiet hours.", figures.quiet),
        ("request_longest_wait_seconds", "The longest wait for a host.", figures.longest_wait),
    )
    for name, meaning, value in gauges:
        yield GaugeMetricFamily(f"pollwise_{name}", meaning, float(value))
    if figures.price is not None:
        meaning = "The index that a page must reach to be polled."
        yield GaugeMetricFamily("pollwise_price", meaning, figures.price)


def _of_database(snapshot: Snapshot) -> Iterator[Metric]:
    size = {
        "all": snapshot.totals.bytes,
        "events": snapshot.sizes.events,
        "versions": snapshot.sizes.bodies,
    }
    yield _labelled("pollwise_database_size_bytes", "Size, and what grows.", "part", size)
    meaning = "Versions of pages that are kept."
    yield GaugeMetricFamily("pollwise_versions", meaning, snapshot.totals.versions)
    meaning = "The number of the latest change."
    yield GaugeMetricFamily("pollwise_latest_change", meaning, snapshot.latest_change)
    meaning = "When the database was read for these metrics."
    yield GaugeMetricFamily("pollwise_snapshot_timestamp_seconds", meaning, snapshot.read_at)
    meaning = "How long reading it took."
    yield GaugeMetricFamily("pollwise_snapshot_duration_seconds", meaning, snapshot.seconds)


def _of_watch(counts: _Counts) -> Iterator[Metric]:
    if counts.due is None or counts.overdue is None:
        return
    yield GaugeMetricFamily("pollwise_pages_due", "Pages worth a poll now.", counts.due)
    meaning = "Pages whose bound on the time between polls has passed."
    yield GaugeMetricFamily("pollwise_pages_overdue", meaning, counts.overdue)
    left = max(time.time() - counts.snapshot.read_at, 0.0)
    waits = [(host, max(wait - left, 0.0)) for host, wait in counts.waits]
    yield GaugeMetricFamily(
        *("pollwise_hosts_left_alone", "Hosts that wait for their next poll."),
        sum(wait > 0 for _, wait in waits),
    )
    yield GaugeMetricFamily(
        *("pollwise_host_waits_seconds", "Their waits, all together."),
        sum(wait for _, wait in waits),
    )
    meaning = "The longest of these waits, by host."
    named = dict(waits[:_NAMED_HOSTS])
    yield _labelled("pollwise_host_longest_wait_seconds", meaning, "host", named)
    if counts.expected is not None:
        meaning = "Mean share of time in which a copy equals its page, as expected."
        yield GaugeMetricFamily(
            "pollwise_expected_freshness_ratio", meaning, counts.expected.freshness
        )
        meaning = "Changes that polls are expected to find a second."
        found = counts.expected.found_per_day / DAY
        yield GaugeMetricFamily("pollwise_expected_changes_per_second", meaning, found)
    if counts.measured is not None:
        yield from _of_past(counts.measured)


def _of_past(measured: Measured) -> Iterator[Metric]:
    meaning = "Changes found in the latest seven days."
    yield GaugeMetricFamily("pollwise_measured_week_changes", meaning, measured.found)
    if measured.freshness is not None:
        meaning = "Mean share of these days in which a copy equalled its page, as polls tell it."
        ratio = {"middle": measured.freshness.middle, "least": measured.freshness.least}
        yield _labelled("pollwise_measured_freshness_ratio", meaning, "estimate", ratio)


def _labelled(name: str, meaning: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
