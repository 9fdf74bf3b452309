"""`pollwise collect` with wrong words."""

from pathlib import Path

import pytest

from .calling import Run


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "nothing to collect: there is no database pollwise.db"),
        (["--topic", "the of and"], "has no usable word"),
        (["--topic", "whales"], "pollwise.db; name pages to begin with (--seed or --seed-file)"),
        (["--seed", "http://h/"], "pollwise.db; name a topic (--topic)"),
        (["--topic", "whales", "--seed", "h.example"], "begin it with https:// or http://"),
        (["--topic", "whales", "--seed", "ftp://h/"], "seed ftp://h/: not an http or https URL"),
        (["--topic", "whales", "--seed", "http://h/a.png"], "file type without text"),
        (["--topic", "whales", "--seed", "http://h/", "--allow", "("], "allow"),
        (["--topic", "whales", "--seed", "http://h/", "--budget", "2/day/page"], "2/second"),
        (["--topic", "whales", "--seed-file", "missing.txt"], "missing.txt"),
        (["--example", "missing.html", "--seed", "http://h/"], "missing.html cannot be read"),
        (["--judge", "nowhere:judge", "--seed", "http://h/"], "cannot be loaded"),
    ],
)
def test_they_are_one_clear_line(run: Run, tmp_path: Path, words: list[str], error: str) -> None:
    answer = run("collect", *words)
    assert (answer.status, answer.out) == (2, "")
    assert error in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not (tmp_path / "pollwise.db").exists()


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ("", "seeds.txt names no page"),
        (
            "http://h/a.png\n",
            "1 page of the 1 listed left out, such as http://h/a.png: file type without text",
        ),
    ],
)
def test_a_file_without_a_page_to_begin_with(
    run: Run, tmp_path: Path, listed: str, why: str
) -> None:
    (tmp_path / "seeds.txt").write_text(listed)
    answer = run("collect", "--topic", "whales", "--seed-file", "seeds.txt")
    assert answer.status == 2
    said, error = answer.err.splitlines()
    assert why in said
    assert "name pages to begin with (--seed or --seed-file)" in error
    assert not (tmp_path / "pollwise.db").exists()
