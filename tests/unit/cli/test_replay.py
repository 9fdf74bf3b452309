"""`pollwise replay` in this process: its options, its answers, what cannot be used."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from pollwise import BayesianIndex, Replay, cli, extras, score, simulate
from pollwise.console.calibrations import print_calibration
from pollwise.console.replays import print_replay

DAY = 86_400
PNG = b"\x89PNG"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path) -> Run:
    """Call `pollwise replay` with these words, in a folder with the trace t.csv."""
    monkeypatch.chdir(tmp_path)
    changes = [
        (page, day * DAY, day % 3 == 0)
        for n, page in enumerate(["one/a", "one/b", "two/c"])
        for day in range(1, 60, n + 1)
    ]
    lines = ["page,changed_at,revert", *(f"{page},{at},{back:d}" for page, at, back in changes)]
    Path("t.csv").write_text("\n".join(lines))
    Path("t-calibration.png").mkdir()
    Path("t.pages.csv").write_text(
        "page,first_seen,died_at,site,weight\none/a,0,,one,5\none/b,0,,one,1\ntwo/c,0,,two,1\n"
    )

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["pollwise", "replay", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, *capsys.readouterr()

    return run


def results_of(answer: tuple[int, str, str]) -> list[dict]:
    status, out, _ = answer
    assert status == 0
    return json.loads(out)["results"]


def test_the_figures_of_an_entry(run):
    words = ["--policy", "uniform", "--policy", "whittle", "--json"]
    first, second = results_of(run("t.csv", "--objective", "freshness", *words))
    figures = {
        "policy", "objective", "budget", "polls", "changes", "found", "captured",
        "novel_captured", "freshness", "delay_days", "age_days",
    }  # fmt: skip
    assert first.keys() == figures
    assert second.keys() == figures | {"against"}
    assert (first["objective"], second["objective"]) == (None, "freshness")
    assert second["against"].keys() == figures - {"polls", "changes", "found", "budget"}
    assert second["against"]["policy"] == "uniform"
    assert len(second["against"]["freshness"]["interval_95"]) == 2


@pytest.mark.parametrize(
    ("objective", "warm_up", "words"),
    [("freshness", 0.15, []), ("detection", 0.0, ["--objective", "detection", "--warm-up", 0])],
)
def test_the_library_gives_the_same_figures_as_its_page_says(run, objective, warm_up, words):
    [told] = results_of(run("t.csv", "--json", *words))
    world = Replay.read("t.csv")
    policy = BayesianIndex() if objective == "detection" else BayesianIndex(objective=objective)
    polls = simulate(policy, world, budget="0.2/day/page", seed=0)
    begin = world.begin + warm_up * (world.end - world.begin)
    ours = score(polls, world.changes, begin=begin, end=world.end)
    for name in ("polls", "changes", "found", "captured", "freshness"):
        assert getattr(ours, name) == told[name]
    assert ours.delay / DAY == pytest.approx(told["delay_days"])


def test_reverts_weights_and_dates(run):
    words = ["t.csv", "--policy", "bayes-index", "--json"]
    [counted] = results_of(run(*words))
    [ignored] = results_of(run(*words, "--reverts", "ignore"))
    assert ignored["changes"] < counted["changes"]
    assert "novel_captured" not in ignored
    [weighted] = results_of(run(*words, "--weighted"))
    assert weighted["weighted_captured"] > counted["captured"]
    words += ["--budget", "0.7/day/page"]  # not in step with the changes: dates tell something
    [untold] = results_of(run(*words))
    [told] = results_of(run(*words, "--last-changed"))
    assert told["polls"] == untold["polls"]
    assert told != untold


def test_reverts_that_count_for_less(run):
    words = ["t.csv", "--policy", "bayes-index", "--policy", "bayes-index:revert_worth=0.2"]
    words += ["--objective", "detection"]
    _, other = results_of(run(*words, "--json"))
    assert other["policy"] == "bayes-index:revert_worth=0.2"
    assert other["against"]["captured"]["difference"] != 0
    status, _, err = run("t.csv", "--policy", "bayes-index:revert_worth=2")
    assert status == 2
    assert "revert_worth=2" in err


def test_for_people(run):
    words = ["--policy", "uniform", "--policy", "whittle", "--budget", "0.2/day/page"]
    status, out, err = run("t.csv", *words)
    assert status == 0
    assert "objective" not in out
    assert "budget" not in out
    for word in ("changes seen", "novel seen", "freshness", "delay, days", "less uniform"):
        assert word in out
    assert "whittle for freshness, 0.2/day/page" in err
    several = ["--budget", "1/day", "--objective", "freshness", "--objective", "delay"]
    _, out, _ = run("t.csv", *words, *several, "--weighted")
    for word in ("objective", "budget", "1/day", "pages weighted"):
        assert word in out


def test_one_policy_is_compared_with_nothing(capsys):
    row = {"policy": "uniform", "objective": None, "budget": "1/day", "polls": 3}
    print_replay([row | {"value_captured": 0.5, "items_captured": 0.25}])
    out = capsys.readouterr().out
    assert "less" not in out
    assert "items captured" in out


def test_a_plot_of_one_budget_and_of_several(run, tmp_path):
    words = ["t.csv", "--policy", "uniform", "--policy", "whittle", "--plot"]
    assert run(*words, "one.png", "--json")[0] == 0
    assert run(*words, "two.PNG", "--budget", "0.1/day/page", "--budget", "1/day/page")[0] == 0
    assert all((tmp_path / name).read_bytes().startswith(PNG) for name in ("one.png", "two.PNG"))


@pytest.mark.parametrize("budgets", [[], ["--budget", "0.1/day/page", "--budget", "1/day/page"]])
def test_a_plot_has_a_panel_for_ages_if_one_is_for_them(run, tmp_path, budgets):
    words = ["t.csv", "--policy", "uniform", "--policy", "whittle", "--plot", "x.png", *budgets]
    widths = []
    for aims in (["freshness", "delay"], ["delay", "age"], ["age"]):
        assert run(*words, *(word for aim in aims for word in ("--objective", aim)))[0] == 0
        head = (tmp_path / "x.png").read_bytes()[16:20]  # of the chunk IHDR
        widths.append(int.from_bytes(head, "big"))
    panels = 3 if budgets else 2
    assert widths[1] == widths[2]
    assert widths[1] / widths[0] == pytest.approx((4.6 * (panels + 1) + 2.2) / (4.6 * panels + 2.2))


def test_a_calibration(run, tmp_path):
    words = ["t.csv", "--policy", "uniform", "--policy", "bayes-index", "--calibration"]
    aims = ["--objective", "freshness", "--objective", "delay"]
    status, out, err = run(*words, *aims, "--plot", "x.png", "--json")
    assert status == 0
    assert "bayes-index: calibration" in err
    document = json.loads(out)
    assert len(document["results"]) == 3
    first, second = document["calibration"]
    assert (first["policy"], first["budget"]) == ("bayes-index", "0.2/day/page")
    assert (first["objective"], second["objective"]) == ("freshness", "delay")
    assert first["coverage"].keys() == {"found_per_day", "freshness", "delay"}
    for name in ("x.png", "x-calibration.png"):
        assert (tmp_path / name).read_bytes().startswith(PNG)
    _, out, _ = run(*words)
    assert "predictions of bayes-index for freshness, 0.2/day/page" in out
    assert f"{first['deciles'][0]['polls']:,}" in out
    assert "calibration" not in json.loads(run("t.csv", "--json")[1])


def test_a_calibration_of_what_cannot_be_predicted(capsys):
    entry = {"policy": "x", "objective": "age", "budget": "1/day", "deciles": [], "forecasts": 0}
    print_calibration([entry | {"brier": math.nan, "horizon_days": 2.0}])
    assert "too short for a forecast of 2 days" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--calibration", "--policy", "uniform"], ["needs a policy that predicts", "bayes-index"]),
        (["--calibration", "--plot", "t.png"], ["t-calibration.png cannot be written"]),
        (["--budget", "x"], ["budget 'x'", "0.2/day/page"]),
        (["--budget", "2/second/page"], ["more than one poll a second", "give at most"]),
        (["--reverts", "perhaps"], ["'--reverts'", "ignore"]),
        (["--objective", "ephemeral"], ["needs --half-life"]),
        (["--objective", "ephemeral", "--half-life", "6"], ["t.csv", "items.parquet"]),
        (["--half-life", "6"], ["--half-life 6.0 is for --objective ephemeral"]),
        (["--plot", "none/x.png"], ["none/x.png cannot be written", "leave out --plot"]),
        (["--plot", "x.pdf"], ["x.pdf", "ends in .png"]),
        (["--policy", "uniform:x=1"], ["no option 'x'"]),
    ],
)
def test_what_cannot_be_used(run, words, parts):
    status, out, err = run("t.csv", *words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1, err
    for part in parts:
        assert part in err


@pytest.mark.parametrize(
    ("change", "words", "parts"),
    [
        ("one/a,0,,one,-5", ["--weighted"], ["t.pages.csv, row 1", "-5 is negative"]),
        ("one/a,0,,one,", ["--weighted"], ["t.pages.csv, row 1", "weight is empty"]),
        ("one/z,0,,one,1", [], ["t.csv, row 1", "'one/a' has no birth"]),
    ],
)
def test_a_table_of_pages_that_cannot_be_used(run, tmp_path, change, words, parts):
    pages = tmp_path / "t.pages.csv"
    pages.write_text(pages.read_text().replace("one/a,0,,one,5", change))
    status, out, err = run("t.csv", *words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1, err
    for part in parts:
        assert part in err


def test_without_matplotlib_it_says_so_before_the_work(run, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    status, _, err = run("t.csv", "--plot", "x.png")
    assert status == 2
    assert "pip install 'pollwise[plots]', or leave out --plot" in err.replace("`", "")


def test_the_example_needs_no_file(run):
    status, out, _ = run("--example", "--budget", "0.1/day/page", "--policy", "uniform", "--json")
    assert status == 0
    [result] = json.loads(out)["results"]
    assert result["polls"] > 3000
    assert 0.2 < result["captured"] < 0.9


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--weighted"], "--weighted"),
        (["--reverts", "ignore"], "--reverts ignore"),
        (["--objective", "ephemeral", "--half-life", "6"], "--objective ephemeral"),
    ],
)
def test_what_the_example_does_not_have(run, words, option):
    status, out, err = run("--example", *words)
    assert (status, out) == (2, "")
    assert f"{option} is not for --example" in err


@pytest.fixture
def past(run) -> str:
    """A table of weekly checks: two pages change at every check, ten at none."""
    rows = [
        f"{page},{week * 7 * DAY},{int(page < 2 and week > 0)}"
        for page in range(12)
        for week in range(20)
    ]
    Path("checks.csv").write_text("\n".join(["page,checked_at,changed", *rows]))
    return "checks.csv"


def test_past_checks_are_compared_with_as_many_polls(run, past):
    words = (past, "--policy", "bayes-index", "--policy", "uniform", "--json")
    status, out, _ = run(*words)
    assert status == 0
    own, learned, uniform = json.loads(out)["results"]
    assert [own["policy"], learned["policy"], uniform["policy"]] == [
        "your checks",
        "bayes-index",
        "uniform",
    ]
    assert own["polls"] == 12 * 19
    for other in (learned, uniform):
        assert other["polls"] == own["polls"]
    # To poll the ten that never change was in vain.
    assert learned["seen_more"] > 0.2
    assert learned["sooner"] > 1.2
    assert uniform["sooner"] == pytest.approx(1.0, abs=0.2)
    assert run(*words)[1] == out


def test_past_checks_are_told_in_a_sentence(run, past):
    status, out, _ = run(past)
    assert status == 0
    words = " ".join(out.split())
    assert "With as many polls, bayes-index would have seen" in words
    assert " changes, " in words
    assert " times sooner. When pages changed between two checks is not known" in words


def checks(*rows: str) -> str:
    Path("checks.csv").write_text("\n".join(["page,checked_at,changed", *rows]))
    return "checks.csv"


def test_a_few_past_checks_are_compared_or_refused(run):
    rows = ["a,0,0", "a,86400,1", "a,172800,0", "b,0,0", "b,86400,0", "b,200000,1"]
    status, out, err = run(checks(*rows))
    assert "nan" not in out
    assert status == 0 or "too few changes to be compared" in err
    daily = [f"a,{day * 86400},{int(day == 3)}" for day in range(8)]
    status, out, _ = run(checks(*daily))
    assert status == 0
    assert "nan" not in out
    status, out, err = run(checks(*(row[:-1] + "0" for row in daily)))
    assert (status, out) == (2, "")
    assert "none of the checks found a change" in err


@pytest.mark.parametrize(
    "words",
    [["--budget", "5/day"], ["--weighted"], ["--objective", "delay", "--objective", "age"]],
)
def test_what_is_not_for_past_checks(run, past, words):
    status, out, err = run(past, *words)
    assert (status, out) == (2, "")
    assert "is not for a table of checks: leave it out" in err
