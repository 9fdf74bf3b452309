"""Avrachenkov and Borkar 2015: ephemeral content (`docs/reproduction.md` has the paper in full)."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.experiment import (
    Claim,
    Curve,
    Effort,
    Experiment,
    Measurements,
    Row,
    Verdict,
)
from pollwise.experiments.judging import Judge
from pollwise.experiments.printed import printed_in
from pollwise.policies.index.ephemeral import EphemeralIndex
from pollwise.simulation.scores.summary import mean_of
from pollwise.simulation.worlds.ephemeral import (
    Choose,
    EphemeralPlay,
    EphemeralSource,
    EphemeralWorld,
    LearningChooser,
    play_epochs,
    top,
)

__all__ = ["EPOCHS", "EXPERIMENTS", "LONG_RUN", "SOURCES"]

_SOURCE = "Avrachenkov, Borkar 2015"

SOURCES = (
    EphemeralSource(rate=250.0, value=1.0, decay=0.7),
    EphemeralSource(rate=250.0, value=0.7, decay=0.35),
    EphemeralSource(rate=250.0, value=0.2, decay=0.7),
    EphemeralSource(rate=250.0, value=0.08, decay=0.21),
)
"""Table 1. The crawling period T is 1 (line 382), all costs are 1."""
EPOCHS = 61
"""Epochs 0 to 60, from sources at which nothing waits: what the figures show."""
LONG_RUN = 420
"""Epochs after these over which the long run is averaged: a multiple of every period found."""

_NAMES = tuple(f"source {number}" for number in range(1, len(SOURCES) + 1))
_LEARNT_AFTER = 50 * len(SOURCES)
_CRAWLS = f"crawls, epochs 0 to {EPOCHS - 1}"
_SHARE, _SHORTEST, _LONGEST = "share of epochs", "shortest gap", "longest gap"
_PERIOD = "period"
_AVERAGE, _BEGUN = "average reward", f"epochs 0 to {EPOCHS - 1}"
_INITIAL, _HALF_LIFE = "initial value", "half-life"
_SEEN = "index policy, M = 2"
_UNSEEN = "index policy, states not observed"
_LEARNER = "ephemeral-index, which knows no parameters"
_HIGH = 2.0  # the value of a source is high against others that have less than half of it


def _data(effort: Effort) -> Measurements:
    """The parameters that all items of the paper are run with."""
    rows = []
    for name, source in zip(_NAMES, SOURCES, strict=True):
        rows += [
            Row(name, "ξ", source.value),
            Row(name, "μ", source.decay),
            Row(name, "Λ", source.rate),
        ]
    return Measurements(rows)


def _fading(effort: Effort) -> Measurements:
    """The value of an item of each source by its age; half-lives are read off these curves."""
    ages = np.linspace(0.0, 10.0, 1001)
    rows, curves = [], []
    for name, source in zip(_NAMES, SOURCES, strict=True):
        values = source.value * np.exp(-source.decay * ages)
        half = ages[np.flatnonzero(values <= values[0] / 2)[0]]
        rows += [Row(name, _INITIAL, float(values[0])), Row(name, _HALF_LIFE, float(half))]
        curves.append(Curve(name, tuple(ages.tolist()), tuple(values.tolist())))
    return Measurements(rows, curves, x_label="time", y_label="value of content", log_x=False)


def _larger(column: str, ones: Sequence[str], others: Sequence[str], times: float = 1.0) -> Judge:
    """The least value of `ones` is more than so many times the largest of `others`."""

    def judge(figure: Measurements) -> Verdict:
        least = min(figure.value(name, column) for name in ones)
        most = max(figure.value(name, column) for name in others)
        seen = f"{column}: {', '.join(ones)} at least {least:.2f}, {', '.join(others)} at most"
        return Verdict(least > times * most, f"{seen} {most:.2f}")

    return judge


def _state_evolution(budget: int) -> Callable[[Effort], Measurements]:
    """The index policy in the deterministic model, with M = `budget`."""

    def play(effort: Effort) -> Measurements:
        world = EphemeralWorld(SOURCES, random=False)
        policies: dict[str, Choose] = {f"index policy, M = {budget}": top(world, budget)}
        if budget == 1:
            policies["source 1 only, M = 1"] = lambda view: np.array([0])
        plays = {
            name: play_epochs(world, choose, epochs=EPOCHS + LONG_RUN, seed=0)
            for name, choose in policies.items()
        }
        rows = []
        for name, each in plays.items():
            rows += [
                Row(name, _AVERAGE, float(each.rewards[EPOCHS:].mean())),
                Row(name, _BEGUN, float(each.rewards[:EPOCHS].mean())),
            ]
        shown, *_ = plays.values()
        for name, polled in zip(_NAMES, shown.polled.T, strict=True):
            rows += _crawls_of(name, polled)
        return _evolution(rows, shown)

    return play


def _crawls_of(name: str, polled: NDArray[np.bool_]) -> list[Row]:
    """When a source is crawled: in the epochs of the figure, and how regularly in the long run."""
    late = polled[EPOCHS:]
    gaps = np.diff(np.flatnonzero(late))
    return [
        Row(name, _CRAWLS, float(polled[:EPOCHS].sum())),
        Row(name, _SHARE, float(late.mean())),
        Row(name, _SHORTEST, float(gaps.min()) if len(gaps) else None),
        Row(name, _LONGEST, float(gaps.max()) if len(gaps) else None),
        Row(name, _PERIOD, _period(late)),
    ]


def _period(polled: NDArray[np.bool_]) -> float | None:
    """After how many epochs the crawls of a source repeat; None: never, or there are none."""
    if not polled.any():
        return None
    periods = range(1, len(polled) // 2 + 1)
    return next((float(n) for n in periods if (polled[n:] == polled[:-n]).all()), None)


def _evolution(rows: list[Row], play: EphemeralPlay) -> Measurements:
    """The states X_i in the epochs of the figure."""
    epochs = tuple(map(float, range(EPOCHS)))
    curves = [
        Curve(name, epochs, tuple(waiting.tolist()))
        for name, waiting in zip(_NAMES, play.waiting[:EPOCHS].T, strict=True)
    ]
    return Measurements(rows, curves, x_label="epoch", y_label="state", log_x=False)


def _regularly(names: Sequence[str], gap: float) -> Judge:
    """Every gap between two crawls of each of these sources is of so many epochs."""

    def judge(figure: Measurements) -> Verdict:
        gaps = {name: _gaps(figure, name) for name in names}
        return Verdict(all(each == (gap, gap) for each in gaps.values()), _told(gaps))

    return judge


def _never(names: Sequence[str]) -> Judge:
    """These sources are crawled neither in the epochs of the figure nor in the long run."""

    def judge(figure: Measurements) -> Verdict:
        crawls = [(figure.value(name, _CRAWLS), figure.value(name, _SHARE)) for name in names]
        seen = ", ".join(_crawled(figure, name) for name in names)
        return Verdict(all(each == (0.0, 0.0) for each in crawls), seen)

    return judge


def _always(name: str) -> Judge:
    """This source is crawled in every epoch of the figure and of the long run."""

    def judge(figure: Measurements) -> Verdict:
        crawls, share = figure.value(name, _CRAWLS), figure.value(name, _SHARE)
        return Verdict(crawls == EPOCHS and share == 1.0, _crawled(figure, name))

    return judge


def _crawled(figure: Measurements, name: str) -> str:
    crawls, share = figure.value(name, _CRAWLS), figure.value(name, _SHARE)
    return f"{name} {crawls:.0f} times in {EPOCHS} epochs, later in {share:.2%} of them"


def _in_a_pattern(names: Sequence[str]) -> Judge:
    """The crawls of each of these sources repeat, and the gaps between them are not all equal."""

    def judge(figure: Measurements) -> Verdict:
        gaps = {name: _gaps(figure, name) for name in names}
        periods = [figure.cell(name, _PERIOD).value for name in names]
        holds = None not in periods and all(short < long for short, long in gaps.values())
        repeat = " and ".join("never" if each is None else f"{each:.0f}" for each in periods)
        return Verdict(holds, f"{_told(gaps)}; they repeat after {repeat} epochs")

    return judge


def _rarely_but_regularly(name: str) -> Judge:
    """All gaps between two crawls of this source are equal, and longer than any of the others."""

    def judge(figure: Measurements) -> Verdict:
        gaps = {each: _gaps(figure, each) for each in _NAMES}
        shortest, longest = gaps.pop(name)
        others = max(long for _, long in gaps.values())
        seen = f"{_told({name: (shortest, longest)})}; of the others at most {others:.0f}"
        return Verdict(others < shortest == longest, seen)

    return judge


def _gaps(figure: Measurements, name: str) -> tuple[float, float]:
    """The shortest and the longest gap between two crawls of a source; NaN where there is none."""
    short, long = (figure.cell(name, column).value for column in (_SHORTEST, _LONGEST))
    return math.nan if short is None else short, math.nan if long is None else long


def _told(gaps: Mapping[str, tuple[float, float]]) -> str:
    texts = [f"{name} {short:.0f} to {long:.0f}" for name, (short, long) in gaps.items()]
    return f"epochs between two crawls: {', '.join(texts)}"


def _at_random(effort: Effort) -> Measurements:
    """The index policy in the stochastic model with M = 2, and two that know less."""
    world = EphemeralWorld(SOURCES)
    plays: dict[str, list[EphemeralPlay]] = {_SEEN: [], _UNSEEN: [], _LEARNER: []}
    for seed in range(effort.trials):
        learner = LearningChooser(world, EphemeralIndex(epoch=world.epoch), 2)
        for name, choose, observed in (
            (_SEEN, top(world, 2), None),
            (_UNSEEN, top(world, 2), ()),
            (_LEARNER, learner, ()),
        ):
            done = play_epochs(
                world, choose, epochs=2 * _LEARNT_AFTER, seed=seed, observed=observed
            )
            plays[name].append(done)
        effort.report(f"trial {seed + 1} done")
    rows = []
    for name, each in plays.items():
        rewards = mean_of([float(play.rewards[_LEARNT_AFTER:].mean()) for play in each])
        rows.append(Row(name, _AVERAGE, rewards.value, rewards.stderr))
    for number, name in enumerate(_NAMES):
        late = [play.polled[_LEARNT_AFTER:, number] for play in plays[_SEEN]]
        share = mean_of([float(polled.mean()) for polled in late])
        gaps = np.concatenate([np.diff(np.flatnonzero(polled)) for polled in late])
        rows += [
            Row(name, _SHARE, share.value, share.stderr),
            Row(name, _SHORTEST, float(gaps.min()) if len(gaps) else None),
            Row(name, _LONGEST, float(gaps.max()) if len(gaps) else None),
        ]
    return _evolution(rows, plays[_SEEN][0])


def _from_time_to_time(name: str) -> Judge:
    """This source is crawled in some epochs and in others not, by two standard errors or more."""

    def judge(figure: Measurements) -> Verdict:
        share = figure.value(name, _SHARE)
        error = figure.cell(name, _SHARE).stderr or 0.0
        holds = share > 2.0 * error and share < 1.0 - 2.0 * error
        return Verdict(holds, f"{name} in {share:.4f} ± {error:.4f} of the epochs")

    return judge


EXPERIMENTS = {
    "ephemeral-table-1": Experiment(
        title="data for numerical example",
        source=f"{_SOURCE}, table 1",
        play=_data,
        published={
            (source, parameter): printed
            for (parameter, source), printed in printed_in("ephemeral", "table 1").items()
        },
        remark="These numbers are what the figures are run with: copied, not measured.",
        copied=True,
    ),
    "ephemeral-figure-1": Experiment(
        title="content value as a function of time",
        source=f"{_SOURCE}, figure 1",
        claims=(
            Claim(
                quote="The initial interest in the content of sources 1 and 2 is high, whereas the"
                " initial interest in the content of sources 3 and 4 is relatively small",
                line=382,
                test="The curves of sources 1 and 2 begin more than twice as high as both others.",
                judge=_larger(_INITIAL, ("source 1", "source 2"), ("source 3", "source 4"), _HIGH),
            ),
            Claim(
                quote="The interest in the content of sources 1 and 3 decreases faster than the"
                " interest in the content of sources 2 and 4",
                line=382,
                test="The curves of sources 2 and 4 take longer to come down to half of their"
                " beginning than those of both others.",
                judge=_larger(_HALF_LIFE, ("source 2", "source 4"), ("source 1", "source 3")),
            ),
        ),
        play=_fading,
    ),
    "ephemeral-figure-2": Experiment(
        title="the case of M = 1",
        source=f"{_SOURCE}, figure 2",
        claims=(
            Claim(
                quote="periodic crawling of sources 1 and 2, crawling each with period two",
                line=384,
                test="In the long run all gaps between two crawls of either source are 2 epochs.",
                judge=_regularly(("source 1", "source 2"), 2.0),
            ),
            Claim(
                quote="Sources 3 and 4 should be never crawled",
                line=384,
                test="They are crawled in no epoch, from the first on.",
                judge=_never(("source 3", "source 4")),
            ),
        ),
        play=_state_evolution(1),
        published=printed_in("ephemeral", "text"),
        remark="The average reward is that of the long run (equation 4). The printed 254.66 comes"
        f" out as the mean of epochs 0 to {EPOCHS - 1} from sources at which nothing waits, a span"
        " that we found by trying all; the printed 179.79 comes out in the long run only. So the"
        " two printed numbers are hardly means of the same kind.",
    ),
    "ephemeral-figure-3": Experiment(
        title="the case of M = 2",
        source=f"{_SOURCE}, figure 3",
        claims=(
            Claim(
                quote="Source 1 is always crawled",
                line=386,
                test="It is crawled in every epoch.",
                judge=_always("source 1"),
            ),
            Claim(
                quote="Sources 2 and 3 are crawled in a non-trivial periodic way",
                line=386,
                test="The crawls of each repeat after some epochs, and the gaps between them are"
                " not all equal.",
                judge=_in_a_pattern(("source 2", "source 3")),
            ),
            Claim(
                quote="sources 4 is crawled periodically with a rather long period",
                line=386,
                test="In the long run all gaps between its crawls are equal, and longer than any"
                " of the other sources.",
                judge=_rarely_but_regularly("source 4"),
            ),
        ),
        play=_state_evolution(2),
    ),
    "ephemeral-figure-4": Experiment(
        title="the case of M = 2 (stochastic model)",
        source=f"{_SOURCE}, figure 4",
        claims=(
            Claim(
                quote="in the stochastic setting source 1 is crawled from time to time",
                line=386,
                test="The share of the epochs in which it is crawled is above 0 and below 1, both"
                " by more than two standard errors.",
                judge=_from_time_to_time("source 1"),
            ),
        ),
        trials=10,
        play=_at_random,
        remark="The paper does not print the law of ξ; here it is exponential.",
    ),
}
