"""Which database `pollwise watch` takes."""

from pathlib import Path

import pytest

from pollwise.cli import watching


@pytest.mark.parametrize(
    ("told", "taken"),
    [(Path("pollwise.db"), "pollwise.db"), (None, "configured.db")],
)
def test_a_database_on_the_command_line_comes_before_that_of_the_configuration(
    tmp_path, monkeypatch, told, taken
):
    def watch_pages(pages, followed, settings, db, **others):
        databases.append(db.name)
        return 0

    databases: list[str] = []
    monkeypatch.setattr("pollwise.live.watching.watch_pages", watch_pages)
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "pollwise.toml"
    config.write_text('[watch]\ndb = "configured.db"\n')
    monkeypatch.setattr(watching.gc, "disable", lambda: None)
    monkeypatch.setattr(watching, "end_on_interrupt", lambda: None)
    watching.watch(["http://a.example/"], config=config, db=told)
    assert databases == [taken]
