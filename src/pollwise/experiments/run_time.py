"""The run time of GPOKS with its FAST update and with the regular regression, and their results."""

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.experiment import Effort, Measurements, Row, Verdict
from pollwise.experiments.judging import more, signed
from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.gpoks.gpoks import GPOKS
from pollwise.policies.gpoks.kernels import amount_gpoks, observe_gpoks, select_gpoks
from pollwise.policies.gpoks.state import restore_page
from pollwise.rates.gaussian_process import SquaredExponential, low_rank_basis
from pollwise.simulation.scores.summary import mean_of
from pollwise.types import Outcome, Page

__all__ = ["regressed_root", "run_time", "same_results", "saves_time"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_COLUMNS = (10, 100, 1000, 2000, 4000, 10_000)
_REGULAR = 1000
"""So far REGULAR runs, a few seconds; the time grows with the fourth power of the polls."""
_UNCHANGED = (0.25, 0.75)
_KERNEL, _NOISE_VARIANCE = SquaredExponential(), 0.1
_POINTS = np.arange(1, 101) / 100
_COVARIANCE = _KERNEL.covariance(_POINTS, _POINTS)
_SAME = 1e-8


def regressed_root(basis: Floats, at: Ints, rewards: Floats) -> Floats:
    """What GPOKS knows of a page, by a regression on all its n rewards: a system of n equations.

    `basis`: a row of features for each amount; `at`: which of the amounts each reward was paid for.
    Gives the root (see `pollwise.rates.gaussian_process`).

    Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.23
    and 2.24, for the weights of the basis, of which the prior is N(0, 1).
    """
    noisy = _COVARIANCE[np.ix_(at, at)]
    noisy[np.diag_indices(len(at))] += _NOISE_VARIANCE
    white = np.column_stack([basis[at], rewards])
    _whiten(noisy, white)
    features, values = white[:, :-1], white[:, -1]
    covariance = np.eye(basis.shape[1]) - features.T @ features
    root = np.linalg.cholesky(np.linalg.inv(covariance)).T
    return np.column_stack([root, root @ (features.T @ values)])


@kernel(fastmath=True)
def _whiten(matrix: Floats, columns: Floats) -> None:
    """Factorise a matrix into LLᵀ in its place, and multiply the columns by L⁻¹.

    Compiled here, since the threads of a numerical library are slow while other programs run.
    """
    for i in range(len(matrix)):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(rest) if i == j else rest / matrix[j, j]
        for column in range(columns.shape[1]):
            rest = columns[i, column]
            for k in range(i):
                rest -= matrix[i, k] * columns[k, column]
            columns[i, column] = rest / matrix[i, i]


@dataclass(frozen=True, eq=False)
class _Run:
    """Seconds to each number of polls in `_COLUMNS`, and what was done in the first `_REGULAR`.

    `polls`: the page of each and its amount; `moments`: what was known then, of all pages.
    """

    seconds: tuple[float, ...]
    polls: list[tuple[int, float]]
    moments: Floats


def _play(seed: int, polls: int, *, regular: bool) -> _Run:
    """Let GPOKS poll two pages; if `regular`, what it knows is regressed anew after every poll."""
    policy = GPOKS(generator=np.random.default_rng([seed, 1]))
    policy.add([Page(0, seen_at=-1.0), Page(1, seen_at=-1.0)])
    state, rng, observation = policy.state, np.random.default_rng([seed, 2]), blank_observation()[0]
    at, rewards = np.zeros((2, polls), np.int64), np.zeros((2, polls))
    counts, done, seconds, moments = [0, 0], [], [], state.moments
    begun = time.perf_counter()
    for n in range(polls):
        page = select_gpoks(state, float(n))
        offered = amount_gpoks(state, page)
        paid = rng.random() < 1.0 - _UNCHANGED[page] ** (1.0 / offered)
        outcome = Outcome.CHANGED if paid else Outcome.UNCHANGED
        write_observation(observation, page, float(n), int(outcome))
        observe_gpoks(state, observation)
        if regular:
            count = counts[page]
            at[page, count], rewards[page, count] = round(offered * len(_POINTS)) - 1, paid
            counts[page] = count = count + 1
            root = regressed_root(state.basis, at[page, :count], rewards[page, :count])
            restore_page(state, page, root)
        done.append((page, offered))
        if n + 1 in _COLUMNS:
            seconds.append(time.perf_counter() - begun)
        if n + 1 == _REGULAR:
            moments = state.moments.copy()
    return _Run(tuple(seconds), done[:_REGULAR], moments[:2])


def _difference(one: _Run, other: _Run) -> float:
    """How far means and standard deviations of what is known of values differ at most."""
    basis = low_rank_basis(_KERNEL, _POINTS)
    tables = []
    for run in (one, other):
        draws = basis @ run.moments
        deviation = np.sqrt((draws[:, :, :-1] ** 2).sum(axis=2))
        tables.append(np.stack([draws[:, :, -1], deviation]))
    return float(np.abs(tables[0] - tables[1]).max())


def run_time(effort: Effort) -> Measurements:
    """Seconds of a trial, p = 0.75/0.25, and how far the results of both versions differ.

    On one core, since parallel runs would disturb the times. REGULAR runs for 1000 polls only.
    """
    for regular in (False, True):
        _play(0, 10, regular=regular)  # compiles
    fast, regular_runs = [], []
    for seed in range(effort.trials):
        effort.report(f"{seed + 1:,d} of {effort.trials:,d} trials")
        fast.append(_play(seed, _COLUMNS[-1], regular=False))
        regular_runs.append(_play(seed, _REGULAR, regular=True))
    rows = _rows("FAST-GPOKS", [run.seconds for run in fast])
    rows += _rows("REGULAR-GPOKS", [run.seconds for run in regular_runs])
    pairs = list(zip(fast, regular_runs, strict=True))
    rows += _rows("difference", [_less(slow.seconds, quick.seconds) for quick, slow in pairs])
    others = sum(
        a != b for quick, slow in pairs for a, b in zip(quick.polls, slow.polls, strict=True)
    )
    rows.append(Row("difference of results", f"polls, t={_REGULAR}", float(others)))
    largest = max(_difference(quick, slow) for quick, slow in pairs)
    rows.append(Row("difference of results", f"means and deviations, t={_REGULAR}", largest))
    return Measurements(rows)


def _less(long: tuple[float, ...], short: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(a - b for a, b in zip(long, short, strict=False))


def _rows(name: str, seconds: list[tuple[float, ...]]) -> list[Row]:
    """A row of the table; where nothing was measured, its values are None."""
    means = [mean_of(column) for column in zip(*seconds, strict=True)]
    known = [Row(name, f"t={n}", m.value, m.stderr) for n, m in zip(_COLUMNS, means, strict=False)]
    return known + [Row(name, f"t={n}", None) for n in _COLUMNS[len(known) :]]


def same_results(table: Measurements) -> Verdict:
    """Both versions make the same polls, and what they know then differs by less than 10⁻⁸."""
    polls = table.value("difference of results", f"polls, t={_REGULAR}")
    known = table.value("difference of results", f"means and deviations, t={_REGULAR}")
    return Verdict(
        polls == 0 and known < _SAME,
        f"{polls:.0f} polls differ; means and standard deviations of the values differ by at most"
        f" {known:.1e}",
    )


def saves_time(table: Measurements) -> Verdict:
    """REGULAR takes longer than FAST, by two standard errors; the more so the longer it runs."""
    longer = table.cell("difference", f"t={_REGULAR}")
    seconds = (longer.value or 0.0, longer.stderr or 0.0)
    short, long = (
        table.value("REGULAR-GPOKS", f"t={n}") / table.value("FAST-GPOKS", f"t={n}")
        for n in (100, _REGULAR)
    )
    return Verdict(
        more(seconds) and long > short,
        f"REGULAR takes {signed(seconds)} s longer for {_REGULAR} polls, {long:.1f} times as long"
        f" as FAST; for 100 polls {short:.1f} times",
    )
