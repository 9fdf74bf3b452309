"""`pollwise notify` tries receivers: one that is named, or those of a configuration."""

import sys

import pytest

WRITES = "import sys; open('first.json', 'w').write(sys.stdin.read())"
SAVES = f'exec:{sys.executable} -c "{WRITES}"'


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Of a receiver whose target is in a file, of one that fails, and of one of the settings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "command").write_text(SAVES, encoding="utf-8")
    path = tmp_path / "pollwise.toml"
    path.write_text(
        """
        [watch]
        notify = ["atom:feed.xml"]
        [[notify]]
        name = "first"
        to = { file = "command" }
        [[notify]]
        name = "broken"
        to = "exec:false"
        """,
        encoding="utf-8",
    )
    return path


def test_a_receiver_of_a_configuration_is_tried_by_its_name(run, config):
    answer = run("notify", "first", "--config", config)
    assert (answer.status, answer.err) == (0, "pollwise: a notice was sent to first\n")
    assert (config.parent / "first.json").exists()
    assert not (config.parent / "feed.xml").exists()


def test_all_of_a_configuration_are_tried_though_one_fails(run, config):
    answer = run("notify", "--config", config)
    assert answer.status == 2
    assert "the notice to broken did not arrive: exit status 1" in answer.err
    assert (config.parent / "first.json").exists()
    assert (config.parent / "feed.xml").exists()


def test_what_names_no_receiver_is_refused(run, config):
    for told, line in [
        ([], "name a target, or a configuration"),
        (["second", "--config", config], "has no receiver 'second': give one of 'atom:"),
    ]:
        answer = run("notify", *told)
        assert answer.status == 2
        assert line in answer.err
    config.write_text("", encoding="utf-8")
    assert "names no receiver of notices" in run("notify", "--config", config).err
