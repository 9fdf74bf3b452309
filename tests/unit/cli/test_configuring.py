"""What `check-config` says of a configuration that can be used."""

import time

import pytest


@pytest.mark.parametrize(("zone", "is_known"), [("Europe/Nowhere", False), ("Europe/Berlin", True)])
def test_quiet_hours_of_a_time_zone_that_is_not_known_are_told(
    run, tmp_path, monkeypatch, zone, is_known
):
    (tmp_path / "pollwise.toml").write_text('[watch]\nquiet = ["22:00-06:00"]\n')
    with monkeypatch.context() as changed:
        changed.setenv("TZ", zone)
        time.tzset()
        answer = run("check-config", str(tmp_path / "pollwise.toml"))
    time.tzset()
    assert answer.status == 0
    assert ("TZ=Europe/Nowhere is no time zone" in answer.err) is not is_known
    assert "can be used: 1 setting, 0 pages" in answer.err.splitlines()[-1]
