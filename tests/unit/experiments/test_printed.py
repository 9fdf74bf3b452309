"""Every number and every quotation is read again from excerpts of the papers' texts."""

import re
from pathlib import Path

import pytest

from pollwise.experiments.printed import Printed, printed_in
from pollwise.experiments.registry import experiments

EXCERPTS = Path(__file__).parents[2] / "data" / "papers"
PAPERS = ("lakg", "htraa", "gpoks", "ephemeral", "robot")
ITEMS = {
    "gpoks": {
        "table 8.1": 16,
        "table 8.2": 36,
        "table 8.3": 4,
        "table 8.4": 12,
        "table 8.5": 63,
        "table 8.6": 5,
        "table 8.7": 15,
        "table 8.8": 72,
        "table 8.9": 7,
        "table 8.10": 63,
        "table 8.11": 6,
        "text of table 8.11": 2,
        "appendix table 1": 45,
        "appendix table 2": 6,
    },
    "ephemeral": {"table 1": 12, "text": 2},
    "robot": {"figure 3": 1, "text": 1},
}
"""How many numbers the papers print, by item."""


def excerpts(paper: str) -> dict[int, str]:
    """The lines of a paper's text that are quoted in the repository."""
    found: dict[int, str] = {}
    for line in (EXCERPTS / f"{paper}.txt").read_text(encoding="utf-8").splitlines():
        number, _, text = line.partition("\t")
        found[int(number)] = found.get(int(number), "") + "\n" + text
    return found


def plain(text: str) -> str:
    """Formulas as the transcription writes them."""
    for tex, written in (
        ("$", ""),
        ("\\sigma_{ws}", "σ_ws"),
        ("w_\\sigma", "w_σ"),
        ("\\sim", ""),
        ("~", ""),
        ("Avg[#Updates]", ""),
    ):
        text = text.replace(tex, written)
    return text.strip()


def cell(paper: str, printed: Printed) -> str:
    """What the excerpt has in the row and column of a table of tab-separated cells."""
    lines = excerpts(paper)
    heading = max(n for n in lines if n < printed.line and is_heading(lines[n]))
    columns = [plain(each) for each in lines[heading].lstrip("\n").split("\t")]
    cells = [plain(each) for each in lines[printed.line].lstrip("\n").split("\t")]
    first = columns.index(next(each for each in columns if each in HEADS))
    assert " ".join(cells[:first]) == printed.row
    return cells[columns.index(printed.column)]


HEADS = {
    *("t=10", "GPOKS", "GPOKS:OTS"),
    "w_σ = 0.0",
}
"""The first columns of numbers."""


def is_heading(text: str) -> bool:
    return "t=10" in text or "w_\\sigma = 0.0" in text or text.startswith(("\n\tp_1", "\n\tGPOKS"))


def test_as_many_as_are_printed():
    assert {
        paper: {item: len(printed_in(paper, item)) for item in items}
        for paper, items in ITEMS.items()
    } == ITEMS
    tables = [count for item, count in ITEMS["gpoks"].items() if item.startswith("table")]
    assert sum(tables) - ITEMS["gpoks"]["table 8.1"] == 283


@pytest.mark.parametrize("item", [item for item in ITEMS["gpoks"] if "text" not in item])
def test_tables_of_the_thesis(item):
    for printed in printed_in("gpoks", item).values():
        assert cell("gpoks", printed) == printed.text


@pytest.mark.parametrize("item", ["table 1"])
def test_the_table_of_ephemeral_content(item):
    lines = excerpts("ephemeral")
    symbols = {"ξ": "xi", "μ": "mu", "Λ": "Lambda"}
    for printed in printed_in("ephemeral", item).values():
        name, *cells = lines[printed.line].split()
        assert f"\\{symbols[printed.row]}" in name
        assert cells[int(printed.column.removeprefix("source ")) - 1] == printed.text


@pytest.mark.parametrize(
    ("paper", "item"), [("ephemeral", "text"), ("robot", "text"), ("robot", "figure 3"),
                        ("gpoks", "text of table 8.11")]
)  # fmt: skip
def test_numbers_in_sentences(paper, item):
    """The conversion of one text repeats them: 179.79179.79179.79."""
    words = {"7": "seven"}
    for printed in printed_in(paper, item).values():
        text = words.get(printed.text, printed.text)
        assert re.search(rf"(?<![\d.]){re.escape(text)}", excerpts(paper)[printed.line])


@pytest.mark.parametrize("paper", PAPERS)
def test_quotations(paper):
    lines = excerpts(paper)
    quoted = [
        claim
        for name, experiment in experiments().items()
        if name.startswith(paper)
        for claim in experiment.claims
    ]
    assert quoted
    for claim in quoted:
        assert claim.quote in lines[claim.line], claim
        assert 3 <= len(claim.quote.split()) <= 30


def test_units_and_digits():
    times = printed_in("gpoks", "table 8.1")
    assert times["REGULAR-GPOKS", "t=4000"].value == pytest.approx(2.8 * 3600)
    assert times["FAST-GPOKS", "t=1000"].step == pytest.approx(6.0)
    assert printed_in("robot", "figure 3").popitem()[1].value == 96.0


def test_a_number_may_be_rounded_or_cut():
    printed = printed_in("gpoks", "table 8.5")["OPTIMAL 0.55/0.45", "t=1000"]
    assert printed.text == "752.4"
    assert printed.distance(752.475) == 0.0
    assert printed.distance(752.36) == 0.0
    assert printed.distance(752.7) == pytest.approx(0.2)
    assert printed.distance(752.0) == pytest.approx(0.35)
