"""The claims of the thesis, judged by the thesis's own numbers, and by others.

Where its claims are borne out by what it prints, rows, columns and directions are the right ones.
"""

from collections.abc import Callable

import pytest

from pollwise.experiments.experiment import Measurements, Row
from pollwise.experiments.papers.gpoks import EXPERIMENTS

TABLES = [name for name in EXPERIMENTS if name != "gpoks-table-8.1"]
"""Table 8.1 is judged by more than what is printed: see `test_run_time`."""

CONTRADICTED = {
    # at 0.3/1.0 and 0.6/1.0 it prints more for LAKG after 100 polls, and at 0.3/1.0 after 1,000
    "converge significantly faster than both LAKG and H-TRAA",
    # at 0.55/0.45 it prints 603.1 for MAB:UCB-1-RAW and 668.5 for MAB:UCB-1
    "MAB:UCB-1-RAW outperforms MAB:UCB-1",
    # it prints 709.8 and 676.4
    "for two material problems, their performance is identical",
    # it prints 2.9 for LAKG and 6.29 for GPOKS
    "the others, while still less stable than GPOKS",
}
"""Claims that the thesis's own numbers do not bear out."""

Change = Callable[[float, float, float, int], float]
"""From a value, the least and the most of its column, and the number of its row."""

CHANGES: dict[str, Change] = {
    "the worst is the best": lambda value, least, most, row: least + most - value,
    "rows differ much": lambda value, least, most, row: value * (1.0 + 0.1 * row),
    "all are alike": lambda value, least, most, row: most,
    "columns differ": lambda value, least, most, row: value**1.01,
}


def printed(name: str, change: Change | None = None) -> Measurements:
    """What is printed, without errors, or what would be if the numbers were others.

    The optimum is printed in steps; the claims are judged by the exact one.
    """
    numbers = {place: each.value for place, each in EXPERIMENTS[name].published.items()}
    for (row, column), value in list(numbers.items()):
        if row == "optimal in 1/100":
            numbers["optimal", column] = value
    names = list(dict.fromkeys(row for row, _ in numbers))
    rows = []
    for (row, column), value in numbers.items():
        if change is not None and not row.startswith("optimal"):
            others = [each for (_, there), each in numbers.items() if there == column]
            value = change(value, min(others), max(others), names.index(row))
        rows.append(Row(row, column, value))
    return Measurements(rows)


CLAIMS = [
    pytest.param(name, claim, id=f"{name}: {claim.quote[:40]}")
    for name in TABLES
    for claim in EXPERIMENTS[name].claims
]


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_what_the_thesis_prints_bears_its_claims_out(name, claim):
    assert claim.judge(printed(name)).holds == (claim.quote not in CONTRADICTED)


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_other_numbers_would_not(name, claim):
    verdicts = {each: claim.judge(printed(name, change)) for each, change in CHANGES.items()}
    assert not all(verdict.holds for verdict in verdicts.values()), verdicts


def test_every_printed_number_of_the_thesis_has_its_place():
    """Names of rows and columns that no table has would be dropped without a word."""
    for experiment in EXPERIMENTS.values():
        for row, column in experiment.published:
            assert row
            assert "t=" in column
    assert sum(len(each.published) for each in EXPERIMENTS.values()) == 352
