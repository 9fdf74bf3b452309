import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.collecting.traps import Trap, Traps, is_endless
from pollwise.web.crawl_urls import crawl_url


@pytest.mark.parametrize(
    "path",
    [
        "/a/b/a/b/a/b",
        "/x/a/a/a/y.html",
        "/docs/img/docs/css/docs/js/docs/",
        "/a/1/a/1/a/1/",
        "/" + "/".join(map(str, range(21))),
        "/" + 500_000 * "a/",
    ],
)
def test_endless_paths(path):
    assert is_endless(path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/a/b/a/b/c",
        "/title/1/1/1/1/1",
        "/2011/11/11/11.html",
        "/libs/mpl/doc/libs/mpl/",
        "/" + "/".join(map(str, range(20))),
    ],
)
def test_paths_with_an_end(path):
    assert not is_endless(path)


@given(st.text("ab1/", max_size=30), st.text("ab1/", max_size=60))
def test_whatever_is_repeated_three_times_is_endless(start, run):
    assert is_endless(f"/{start}{3 * f'/c{run}'}")


def entered(traps: Traps, urls: list[str]) -> list[Trap | None]:
    return [traps.enter(url) for url in urls]


@pytest.mark.parametrize(
    "pattern",
    [
        "http://h/calendar/{year}/{month}/",
        "http://h/calendar/{year}-{month}",
        "http://h/calendar/{year}/{month}/1?view=list",
        "http://h/events?year={year}&month={month}",
        "http://h/events?start={year}-{month}&x=1",
        "http://h/events?tribe-bar-date={year}-{month}-01",
    ],
)
def test_a_calendar_has_an_end(pattern):
    urls = [
        pattern.format(year=year, month=month)
        for year in range(2000, 2010)
        for month in range(1, 13)
    ]
    found = entered(Traps(dates_per_path=30), urls)
    assert found == 30 * [None] + 90 * [Trap.CALENDAR]


def test_articles_of_a_day_are_no_calendar():
    traps = Traps(dates_per_path=1)
    urls = [f"http://h/2024/05/{day}/title-{day}" for day in range(10, 30)]
    assert set(entered(traps, urls)) == {None}


def test_numbers_of_one_pattern():
    traps = Traps(urls_per_pattern=5)
    urls = [f"http://h/item/{n}.html" for n in range(9)]
    assert entered(traps, urls) == 5 * [None] + 4 * [Trap.NUMBERS]
    hashes = [f"http://h/object/{n:x}" for n in range(0xDEADBEEF, 0xDEADBEEF + 9)]
    assert entered(traps, hashes) == 5 * [None] + 4 * [Trap.NUMBERS]
    # Another host, another pattern, no pattern.
    assert traps.enter("http://g/item/1.html") is None
    assert traps.enter("http://h/items/1.html") is None
    assert set(entered(traps, [f"http://h/{c}" for c in "abcdefghijk"])) == {None}


def test_queries_of_one_path():
    traps = Traps(queries_per_path=5)
    urls = [f"http://h/list/7?sort={c}" for c in "abcdefgh"]
    assert entered(traps, urls) == 5 * [None] + 3 * [Trap.QUERIES]
    assert traps.enter("http://h/list/8?sort=a") is Trap.QUERIES
    assert traps.enter("http://h/list/8") is None


def test_what_is_in_one_trap_does_not_count_for_another():
    traps = Traps(urls_per_pattern=3, queries_per_path=5)
    assert entered(traps, [f"http://h/l?p={n}" for n in range(9)]).count(None) == 3
    assert entered(traps, [f"http://h/l?p={c}" for c in "abcdef"]).count(None) == 2


def test_many_patterns_do_not_disturb_each_other():
    traps = Traps(urls_per_pattern=4)
    for n in range(20_000):
        # Letters only, so that every one is a pattern of its own.
        name = f"{n:05d}".translate(str.maketrans("0123456789", "ghijklmnop"))
        assert traps.enter(f"http://h/{name}/1") is None
        assert traps.enter(f"http://h/{name}/2") is None


TRAPS = Traps(dates_per_path=1, urls_per_pattern=2, queries_per_path=2)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40))
def test_any_url_is_judged(rest):
    assert TRAPS.enter(crawl_url(f"http://h/{rest}")) in {None, *Trap}
