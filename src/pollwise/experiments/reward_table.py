"""A table of learning: what the learners got out of the first polls, world by world."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pollwise.experiments.experiment import Effort, Outcome, Row
from pollwise.experiments.judging import verdict
from pollwise.experiments.learning import Learned, checkpoints_to, classical_scores, learn
from pollwise.experiments.scenario import Learner, World

__all__ = ["RewardTable"]

_CLASSICAL = ("optimal", "proportional", "uniform")


@dataclass(frozen=True, kw_only=True)
class RewardTable:
    """The rewards of `learners` in `worlds` after each number of polls in `horizons`.

    The means of `trials` trials. The claim holds if in every world `leader` is ahead of `rivals`
    at the last horizon. `published` has the printed values by row and column. The
    classical mixtures are rows too; where a world is abstract, their rewards are exact.
    """

    title: str
    source: str
    claim: str
    worlds: Sequence[World]
    learners: Sequence[Learner]
    leader: str = "gpoks"
    rivals: Sequence[str]
    horizons: Sequence[int] = (10, 100, 1000)
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    remark: str = ""
    trials: int = 1000

    def run(self, effort: Effort) -> Outcome:
        """Do the trials, and compare."""
        polling = self.worlds[0].polling
        played = [*(Learner(name, name) for name in _CLASSICAL if polling), *self.learners]
        checkpoints = checkpoints_to(max(self.horizons), *self.horizons)
        rows = []
        for learned in learn(self.worlds, played, checkpoints, effort):
            if not polling:
                rows += self._classical(learned.world)
            rows += self._rewards(learned)
            rows += learned.rows_to_share(learned.world.label)
        return Outcome(rows, " ".join(filter(None, [self._finding(rows), self.remark])))

    def _classical(self, world: World) -> list[Row]:
        scores = classical_scores(world)
        return [
            self._row(name, world, polls, scores[name] * polls)
            for name in _CLASSICAL
            for polls in self.horizons
        ]

    def _rewards(self, learned: Learned) -> list[Row]:
        means = {
            (row, polls): learned.reward(row, polls)
            for row in learned.samples
            for polls in self.horizons
        }
        return [
            self._row(row, learned.world, polls, mean.value, mean.stderr)
            for (row, polls), mean in means.items()
        ]

    def _row(
        self, row: str, world: World, polls: int, value: float, stderr: float | None = None
    ) -> Row:
        column = f"{world.label} t={polls}"
        return Row(row, column, value, stderr, self.published.get((row, column)))

    def _finding(self, rows: Sequence[Row]) -> str:
        """Where the leader leads, who gets the most, and how far printed values are away."""
        cells = {(row.row, row.column): row for row in rows}
        columns = [f"{world.label} t={max(self.horizons)}" for world in self.worlds]
        led = {column: self._leads(cells, column) for column in columns}
        texts = [
            f"{self.leader} ahead of {', '.join(self.rivals)} by more than two standard errors: "
            + ", ".join(f"{column} {'yes' if leads else 'no'}" for column, leads in led.items())
        ]
        for column in columns:
            mine = [(cells[each.row, column].value or 0.0, each.row) for each in self.learners]
            best = ", ".join(f"{row} {value:.1f}" for value, row in sorted(mine)[::-1][:3])
            texts.append(f"most at {column}: {best}")
        texts += [
            f"{row.row}, {row.column}: {row.value / row.published - 1:+.1%} against the printed"
            " value"
            for row in rows
            if row.value and row.published
        ]
        return verdict(all(led.values()), "; ".join(texts) + ".")

    def _leads(self, cells: Mapping[tuple[str, str], Row], column: str) -> bool:
        leader = cells[self.leader, column]
        for rival in (cells[name, column] for name in self.rivals):
            error = math.hypot(leader.stderr or 0.0, rival.stderr or 0.0)
            if (leader.value or 0.0) - (rival.value or 0.0) <= 2 * error:
                return False
        return True
