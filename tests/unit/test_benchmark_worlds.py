"""What benchmarks/worlds.py refuses."""

import sys

import pytest


@pytest.fixture
def worlds(import_benchmark):
    return import_benchmark("worlds")


def test_no_other_tree_is_measured_than_the_one_that_is_named(
    worlds, monkeypatch, tmp_path, capsys
):
    missing = str(tmp_path / "none" / "src")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{missing}")
    monkeypatch.setattr(sys, "argv", ["worlds.py", str(tmp_path), "--runs", str(tmp_path / "runs")])
    with pytest.raises(SystemExit, match="2"):
        worlds.main()
    assert f"PYTHONPATH names {missing}, which does not exist" in capsys.readouterr().err
