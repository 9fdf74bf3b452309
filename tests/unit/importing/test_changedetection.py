"""Backups of changedetection.io, in the form of all versions."""

import io
import json
import tracemalloc
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.importing.changedetection import read_changedetection
from pollwise.importing.imported import Imported
from pollwise.types import Outcome

from .backups import backup
from .one_line import read_or_refused

HOUR = 3600.0
BEGIN = 1_700_000_000
WATCH = {
    "url": "https://a.example/list",
    "title": "The list",
    "include_filters": ["main", "//p", "jq:.a"],
    "subtractive_selectors": [".ad"],
    "ignore_text": ["Seen 3 times", "/views: \\d+/i"],
    "tags": ["t1", "gone"],
    "tag": "old, one",
    "paused": True,
    "time_between_check": {"hours": 1, "minutes": None},
    "last_checked": BEGIN + 10 * HOUR,
    "trigger_text": ["sold"],
}
HISTORY = f"{BEGIN},a.txt\n{BEGIN + 4 * 3600},b.txt\n{BEGIN + 4 * 3600},twice\nrubbish\n"


OLD = {
    "url-watches.json": json.dumps(
        {
            "watching": {"w1": WATCH, "w2": {"url": "https://b.example/"}, "w3": {"url": " "}},
            "settings": {
                "application": {"tags": {"t1": {"title": "Two words"}}},
                "requests": {"time_between_check": {"days": 1}},
            },
        }
    ),
    "w1/history.txt": HISTORY,
    "w2/history.txt": f"{BEGIN},a\n{BEGIN + 90_000},b",
    "secret.txt": "x",
}
NEW = {
    "w1/watch.json": json.dumps(WATCH),
    "w1/history.txt": HISTORY,
    "t1/tag.json": json.dumps({"title": "Two words"}),
}


def read(data: bytes) -> Imported:
    return read_changedetection(io.BytesIO(data))


@pytest.mark.parametrize("files", [OLD, NEW], ids=["until 0.53", "since"])
def test_a_watch_is_taken_over(files):
    found = read(backup(files))
    page = found.pages[0]
    assert (page.url, page.name) == ("https://a.example/list", "The list")
    assert page.paused is True
    assert page.tags == ("Two-words", "old", "one")
    assert page.select == ("main", "xpath://p")
    assert page.ignore == (
        ".ad",
        "re:(?i).*Seen\\ 3\\ times.*",
        "re:(?i).*(?:views: \\d+).*",
    )
    assert found.left_out[:2] == (
        "https://a.example/list: the filter 'jq:.a' has no counterpart: what counts is main, xpath://p"
        f" without {', '.join(page.ignore)}",
        "https://a.example/list: without trigger_text",
    )


def test_rules_of_tags_and_for_all_pages_count():
    """As in version 0.60, whose settings, tags and watches have these keys."""
    application = {
        "global_ignore_text": ["Seen 3 times", "today"],
        "global_subtractive_selectors": ["footer"],
        "fetch_backend": "html_requests",
    }
    tag = {
        "title": "t",
        "include_filters": ["h1"],
        "ignore_text": ["odd"],
        "extract_lines_containing": ["price"],
        "overrides_watch": True,
        "fetch_backend": "html_webdriver",
    }
    own = {"url": "https://b.example/", "tags": [], "extract_text": ["x"]}
    files = {
        "changedetection.json": json.dumps({"settings": {"application": application}}),
        "t1/tag.json": json.dumps(tag),
        "a/watch.json": json.dumps({**WATCH, "fetch_backend": "system", "trigger_text": []}),
        "b/watch.json": json.dumps(own),
    }
    found = read(backup(files))
    first, second = found.pages
    assert first.select == ("main", "xpath://p", "h1")
    assert first.ignore == (
        *(".ad", "footer", "re:(?i).*Seen\\ 3\\ times.*", "re:(?i).*(?:views: \\d+).*"),
        *("re:(?i).*odd.*", "re:(?i).*today.*"),
    )
    assert first.render is True
    assert second.ignore == ("footer", "re:(?i).*Seen\\ 3\\ times.*", "re:(?i).*today.*")
    assert second.render is None
    assert "https://a.example/list: without extract_lines_containing" in found.left_out
    assert "https://b.example/: without extract_text" in found.left_out


def test_all_watches_may_be_paused():
    settings = {"settings": {"application": {"all_paused": True}}}
    files = {
        "changedetection.json": json.dumps(settings),
        "a/watch.json": json.dumps({"url": "https://a.example/", "paused": False}),
    }
    assert read(backup(files)).pages[0].paused is True


def test_an_interval_of_its_own_counts_only_where_it_is_used():
    watch = {**WATCH, "time_between_check_use_default": True}
    files = {"w/watch.json": json.dumps(watch), "w/history.txt": HISTORY}
    [checks] = read(backup(files)).checks.values()
    assert [(one.polled_at - BEGIN) / HOUR for one in checks] == [0.0, 1.0, 4.0, 7.0, 10.0]


def test_one_watch_is_held_at_a_time():
    large = json.dumps({**WATCH, "notes": [{"n": n} for n in range(2000)]})
    data = io.BytesIO(backup({f"w{n}/watch.json": large for n in range(60)}))

    def peak() -> int:
        tracemalloc.start()
        try:
            assert len(read_changedetection(data).pages) == 60
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak() < 5_000_000, "all of them take more than 20 MB"


def test_of_many_checks_ten_are_told():
    files = {"w/watch.json": json.dumps({**WATCH, "last_checked": BEGIN + 1000 * HOUR})}
    found = read(backup({**files, "w/history.txt": f"{BEGIN},x"}))
    [[first, *others]] = found.checks.values()
    assert first.outcome is Outcome.CHANGED
    assert [one.polled_at - BEGIN for one in others] == [100 * HOUR * n for n in range(1, 11)]


def test_past_checks_are_told_as_far_as_they_are_known():
    found = read(backup(OLD))
    told = {
        url: [((one.polled_at - BEGIN) / HOUR, one.outcome) for one in checks]
        for url, checks in found.checks.items()
    }
    assert told == {
        "https://a.example/list": [
            (0.0, Outcome.CHANGED),
            *((float(hour), Outcome.UNCHANGED) for hour in (1, 2, 3)),
            (4.0, Outcome.CHANGED),
            *((float(hour), Outcome.UNCHANGED) for hour in (5, 6, 7, 8, 9, 10)),
        ],
        "https://b.example/": [  # by the interval for all watches
            (0.0, Outcome.CHANGED),
            (1.0, Outcome.UNCHANGED),
            (25.0, Outcome.CHANGED),
        ],
    }
    assert found.left_out[-1] == "a watch without a URL"


def test_urls_that_are_not_as_others():
    files = {
        "a/watch.json": json.dumps({"url": "source:https://a.example/"}),
        "b/watch.json": json.dumps({"url": "https://b.example/?day={% now 'utc' %}"}),
    }
    found = read(backup(files))
    assert [page.url for page in found.pages] == ["https://a.example/"]
    assert found.left_out == (
        "https://b.example/?day={% now 'utc' %}: made anew at each check; add what it means now",
    )


def test_a_watch_is_kept_without_the_rules_that_are_of_no_use_here():
    several = "xpath:for $p in //p return string($p)"  # XPath 2.0
    watch = {
        "url": "https://a.example/",
        "include_filters": [several, "main"],
        "ignore_text": ["/((/", "/(?<=x)y/", "seen"],
    }
    found = read(backup({"a/watch.json": json.dumps(watch)}))
    [page] = found.pages
    assert (page.select, page.ignore) == (("main",), ("re:(?i).*seen.*",))
    assert found.left_out == (
        f"https://a.example/: the filters '{several}', 're:.*(?:(().*', 're:.*(?:(?<=x)y).*' have"
        " no counterpart: what counts is main without re:(?i).*seen.*",
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "cannot be read"),
        (b"PK\3\4 but no zip", "cannot be read"),
        (backup({"a.txt": "b"}), "no backup of changedetection"),
        (backup({"url-watches.json": "{"}), "url-watches.json in the backup is damaged"),
        (backup({"url-watches.json": "[1]"}), "no backup of changedetection"),
        (backup({**NEW, "w1/watch.json": '{"url": 3}'})[:-30], "cannot be read"),
    ],
    ids=["empty", "no zip", "foreign", "no JSON", "a list", "cut off"],
)
def test_what_is_no_backup_is_said_in_a_line(data, told):
    with pytest.raises(InputError, match=told) as caught:
        read(data)
    assert len(str(caught.value).splitlines()) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.dictionaries(st.sampled_from(sorted(WATCH)), json_values), st.text(max_size=30))
def test_any_values_are_read_or_left_out(watch, history):
    files = {"w/watch.json": json.dumps({"url": "http://a.example/", **watch})}
    read(backup({**files, "w/history.txt": history}))


def test_checks_without_a_pause_between_them_are_believed_to_have_one():
    watch = {**WATCH, "time_between_check": {"seconds": 1e-310}}
    files = {"w/watch.json": json.dumps(watch), "w/history.txt": HISTORY}
    [checks] = read(backup(files)).checks.values()
    assert len(checks) == 2 + 20


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_refused(method):
    sound = backup(OLD, method)
    for place in range(0, len(sound), 7):
        data = bytearray(sound)
        data[place] ^= 0x55
        read_or_refused(read, bytes(data))


def test_names_of_files_that_are_no_text_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("url-watches.json", '{"watching":{}}')
        archive.writestr("ü/watch.json", '{"url":"http://e.example/"}')
    with pytest.raises(InputError, match="make it again"):
        read(file.getvalue().replace("ü".encode(), b"\xff\xff"))


@pytest.mark.parametrize("files", [OLD, NEW], ids=["until 0.53", "since"])
def test_all_of_it_may_lie_in_a_folder(files):
    found = read(backup({f"datastore/{name}": text for name, text in files.items()}))
    plain = read(backup(files))
    assert found == plain
    assert len(found.checks["https://a.example/list"]) == 11


def test_that_there_are_no_past_checks_is_said():
    found = read(backup({"w1/watch.json": NEW["w1/watch.json"]}))
    assert found.checks == {}
    assert "https://a.example/list: without past checks, as it has no history.txt" in found.left_out


def test_what_a_browser_fetched_is_rendered():
    def watch(n: int, **told: object) -> str:
        return json.dumps({"url": f"https://a.example/{n}", **told})

    backends = ("html_webdriver", "html_requests", "system", "extra_browser_mine")
    watches = {
        f"w{n}/watch.json": watch(n, fetch_backend=backend) for n, backend in enumerate(backends)
    }
    told = json.dumps({"settings": {"application": {"fetch_backend": "html_webdriver"}}})
    for files, by_default in ((watches, None), ({**watches, "changedetection.json": told}, True)):
        found = read(backup(files))
        assert [page.render for page in found.pages] == [True, None, by_default, True]
        assert found.left_out == ()


def test_settings_for_all_watches_may_be_in_a_file_of_their_own():
    told = {"settings": {"requests": {"time_between_check": {"days": 1}}}}
    files = {"w/watch.json": json.dumps({"url": "https://a.example/", "last_checked": BEGIN + 2e5})}
    files["w/history.txt"] = f"{BEGIN},a"
    [checks] = read(backup({**files, "changedetection.json": json.dumps(told)})).checks.values()
    assert len(checks) == 3


@pytest.mark.parametrize("folder", ["", "datastore/"])
def test_what_is_left_of_the_version_before_does_not_count(folder):
    old = {
        "watching": {
            "w": {"url": "https://a.example/before"},
            "removed": {"url": "https://b.example/"},
        },
        "settings": {
            "application": {"fetch_backend": "html_webdriver"},
            "requests": {"time_between_check": {"hours": 1}},
        },
    }
    files = {
        "w/watch.json": json.dumps({"url": "https://a.example/", "last_checked": BEGIN + 2e5}),
        "w/history.txt": f"{BEGIN},a",
        "changedetection.json": json.dumps(
            {"settings": {"requests": {"time_between_check": {"days": 1}}}}
        ),
        "url-watches.json": json.dumps(old),
    }
    found = read(backup({f"{folder}{name}": text for name, text in files.items()}))
    [page] = found.pages
    assert (page.url, page.render) == ("https://a.example/", None)
    assert len(found.checks[page.url]) == 3


def test_everything_without_a_counterpart_is_said():
    watch = {
        "url": "https://a.example/",
        "processor": "restock_diff",
        "method": "POST",
        "text_should_not_be_present": ["sold"],
        "filter_text_removed": False,
        "filter_text_added": True,
        "webdriver_delay": None,
        "conditions": {},
        "headers": {},
        "time_schedule_limit": {"enabled": True},
    }
    assert read(backup({"w/watch.json": json.dumps(watch)})).left_out == (
        "https://a.example/: without processor, method, text_should_not_be_present,"
        " filter_text_removed, time_schedule_limit",
    )
