"""What people see of a replay: in a narrow terminal, and of a history without changes."""

import math

from pollwise.console.replays import print_replay

FIRST = {
    "policy": "bayes_index",
    "objective": "freshness",
    "budget": "0.2/day/page",
    "polls": 12_345,
    "captured": 0.51234,
    "novel_captured": 0.5,
    "freshness": 0.91234,
    "delay_days": 12.345,
    "age_days": 123.45,
}
AGAINST = {
    "policy": "bayes_index",
    "objective": "freshness",
    **{
        key: {"difference": -0.01, "interval_95": (-0.02, 0.01)}
        for key in ("captured", "freshness", "delay_days")
    },
}


def test_no_number_is_cut(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    other = {**FIRST, "policy": "uniform", "against": AGAINST}
    with terminal.in_use():
        print_replay([FIRST, other])
    assert "…" not in terminal.plain
    assert max(map(len, terminal.plain.splitlines()[:7])) <= 60
    assert "0.5123" in terminal.plain
    assert "left out, as the terminal has 60 columns: " in terminal.plain
    assert "age, days" in terminal.plain


def test_the_objective_age_has_its_differences_told(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    by = {"difference": 0.0123, "interval_95": (0.0111, 0.0135)}
    against = {**AGAINST, "objective": "age", "age_days": by}
    first, other = ({**FIRST, "objective": each} for each in ("age", None))
    with terminal.in_use():
        print_replay([{**first, "age_days": 0.0031}, {**other, "against": against}])
    assert "0.0031" in terminal.plain
    assert "+0.0123 ± 0.0012" in terminal.plain


def test_what_no_change_could_tell_is_a_dash_and_said(terminal):
    silent = {**FIRST, "captured": math.nan, "delay_days": math.nan}
    unknown = {"difference": math.nan, "interval_95": (math.nan, math.nan)}
    against = {**AGAINST, "captured": unknown, "delay_days": unknown}
    with terminal.in_use():
        print_replay([silent, {**silent, "policy": "uniform", "against": against}])
    assert "nan" not in terminal.plain
    assert "0.9123" in terminal.plain
    assert "No change falls into the time that counts" in terminal.plain
