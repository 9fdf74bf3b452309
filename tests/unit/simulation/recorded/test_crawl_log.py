"""The public crawl data set, in a made-up file of its format."""

from pathlib import Path

import pytest

from pollwise.errors import TraceError
from pollwise.simulation.recorded.replay import Replay

HISTORY = """\
5\t5.5\t[[1.25, 0], [1.5, 1], [1.0, 1]]
7\t0.5\t[[1.0, 0], [1.0, 0]]
9\t2.0\t[]
"""
DAY = 86_400.0


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "urlid_offset_history.txt").write_text(HISTORY)
    (tmp_path / "urlid_imp.txt").write_text("9\t0\n7\t2.5\n5\t10\n6\t-1\n")
    (tmp_path / "url_urlid_hostid.txt").write_text(
        "http://a.example/x/1\t5\t31\nhttp://a.example/x/2\t7\t31\nhttp://b.example/\t8\t32\n"
    )
    return tmp_path


def test_changes_are_at_the_crawls_that_saw_them(folder):
    world = Replay.read(folder)
    assert [page.url for page in world.pages] == [
        "http://a.example/x/1",
        "http://a.example/x/2",
        "9",
    ]
    assert [page.site for page in world.pages] == ["31", "31", ""]
    assert [page.kind for page in world.pages] == ["x/#", "x/#", "#"]
    assert (world.changes.born / DAY).tolist() == [5.5, 0.5, 2.0]
    assert (world.changes.of_page(0) / DAY).tolist() == [8.25, 9.25]
    assert world.changes.of_page(1).tolist() == []
    assert (world.begin / DAY, world.end / DAY) == (0.5, 9.25)


def test_importance_is_the_weight(folder):
    assert [page.weight for page in Replay.read(folder, weighted=True).pages] == [10.0, 2.5, 0.0]
    assert [page.weight for page in Replay.read(folder).pages] == [1.0, 1.0, 1.0]


def test_only_the_histories_are_needed(folder):
    (folder / "urlid_imp.txt").unlink()
    (folder / "url_urlid_hostid.txt").unlink()
    for path in (folder, folder / "urlid_offset_history.txt"):
        assert [page.url for page in Replay.read(path).pages] == ["5", "7", "9"]


def test_a_line_of_headings_is_no_page(folder):
    path = folder / "urlid_offset_history.txt"
    path.write_text("URL_ID\tFirst_crawl_time_offset\tCrawl_and_change_history\n" + HISTORY)
    assert len(Replay.read(folder).pages) == 3


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("urlid_offset_history.txt", "", "no lines"),
        ("urlid_offset_history.txt", "5\t1.0\n", "line 1: 2 columns, expected 3"),
        ("urlid_offset_history.txt", "5\tx\t[]\n", "line 1: not a crawl history"),
        ("urlid_offset_history.txt", "5\t1\t[[1, 0], 3]\n", "line 1: not a crawl history"),
        ("urlid_offset_history.txt", "5\t1\t[[1, 0\n", "line 1: not a crawl history"),
        (
            "urlid_offset_history.txt",
            "5\t1\t[[-1, 0]]\n",
            "line 1: the crawls are not in",
        ),
        ("urlid_offset_history.txt", "5\t1\t[[1, 2]]\n", "line 1: a change is neither 0 nor 1"),
        ("urlid_offset_history.txt", "5\t1\t[]\n5\t1\t[]\n", "URL_ID 5 has two lines"),
        ("urlid_imp.txt", "5\t1\n7\t-2\n9\t1\n", "line 2: the importance '-2'"),
        ("urlid_imp.txt", "5\t1\n7\tmuch\n9\t1\n", "line 2: the importance 'much'"),
        ("urlid_imp.txt", "5\t1\n7\t2\n", "no importance for URL_ID 9"),
    ],
)
def test_what_cannot_be_used(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(TraceError, match=message) as error:
        Replay.read(folder, weighted=True)
    assert str(folder / name) in str(error.value)
    assert "\n" not in str(error.value)


def test_importance_that_is_missing_but_asked_for(folder):
    (folder / "urlid_imp.txt").unlink()
    with pytest.raises(TraceError, match=r"urlid_imp\.txt: cannot be read"):
        Replay.read(folder, weighted=True)
