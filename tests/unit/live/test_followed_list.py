"""A list of pages that is followed while a watch runs."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from pollwise.errors import InputError, StoreBusyError
from pollwise.live.control import Carried, carry_out
from pollwise.live.followed_list import FollowedList
from pollwise.live.requests import RemovePages, described
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.web.url_list import read_url_list

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
Write = Callable[..., None]


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "pages.txt"


@pytest.fixture
def write(path) -> Write:
    """Write these lines at a time of their own, as a clock may be too coarse to tell them apart."""
    times = iter(range(1, 100))

    def write(*lines: str) -> None:
        path.write_text("".join(f"{line}\n" for line in lines))
        moment = next(times) * 10**9
        os.utime(path, ns=(moment, moment))

    return write


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    with Store.open(tmp_path / "pages.db") as store:
        yield store


def what_was_done(carried: Iterable[Carried]) -> list[str]:
    return [described(one.request, one.effect) for one in carried]


def carried_out(
    one: FollowedList, store: Store, now: float, followed: Sequence[FollowedList] = ()
) -> list[Carried]:
    """Look at a list, and carry out what was changed."""
    one.look()
    return one.carry_out(store, now, followed)


def looked_twice(followed: FollowedList, store: Store) -> list[str]:
    """What was done, and said, after the file stayed as it is from one look to the next."""
    assert carried_out(followed, store, 1.0) == []
    done = what_was_done(carried_out(followed, store, 2.0))
    assert carried_out(followed, store, 3.0) == []
    followed.tell(done.append)
    return done


def watched(store: Store) -> dict[str, float]:
    return {record.page.url: record.page.weight for record in store.pages()}


def test_lines_that_come_change_and_go(path, write, store):
    write(A, f"{B} weight=2")
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    assert carried_out(followed, store, 1.0) == []
    write(f"{B} weight=3", C)
    assert looked_twice(followed, store) == [f"added: {C}", f"set: {B}", f"removed: {A}"]
    assert watched(store) == {B: 3.0, C: 1.0}


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(path, write, store):
    write(A)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    path.unlink()
    os.mkfifo(path)
    [told] = looked_twice(followed, store)
    assert told == f"{path} is no file any more; its pages are watched as before"


def test_what_else_was_told_of_a_page_stays_when_another_line_changes(path, write, store):
    write(f"{A} weight=2", B)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    store.add_pages([NewPage(A, "a.example", weight=5.0)], 0.5)
    write(f"{A} weight=2", f"{B} weight=4")
    assert looked_twice(followed, store) == [f"set: {B}"]
    assert watched(store) == {A: 5.0, B: 4.0}


def test_what_a_line_says_no_more_is_taken_back(path, write, store):
    told = 'weight=9 cost=2 at-least=1/day tags=t select=p notify-when="has x"'
    write(f"{A} {told}", f"{B} weight=2 tags=t")
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    store.add_pages([NewPage(A, "a.example", ignore=("nav",))], 0.5)
    write(A, f"{B} weight= tags=t")
    assert looked_twice(followed, store) == [f"2 pages set: {A} and 1 more"]
    first, second = (record.page for record in store.pages())
    assert (first.weight, first.cost, first.longest_interval) == (1.0, 1.0, None)
    assert (first.tags, first.select, first.ignore) == ((), (), ("nav",))
    assert first.notify_when == ()
    assert (second.weight, second.tags) == (1.0, ("t",))


def test_what_another_list_says_of_a_page_holds_when_this_one_drops_it(path, write, store):
    write(f"{A} weight=2 tags=t", B)
    other_path = path.with_name("others.txt")
    other_path.write_text(f"{A} weight=7\n")
    both = [FollowedList(other_path), FollowedList(path)]
    for one in both:
        store.add_pages(one.pages, 0.0)
    assert watched(store) == {A: 2.0, B: 1.0}
    write(B)
    carried_out(both[1], store, 1.0, both)
    assert what_was_done(carried_out(both[1], store, 2.0, both)) == [f"set: {A}"]
    assert watched(store) == {A: 7.0, B: 1.0}
    assert store.find_page(A).page.tags == ()


def test_what_several_other_lists_say_is_put_together(path, write, store):
    write(f"{A} weight=2", B)
    others = path.with_name("one.txt"), path.with_name("two.txt")
    for other, line in zip(others, (f"{A} weight=5 tags=t", A), strict=True):
        other.write_text(f"{line}\n")
    lists = [FollowedList(path), *map(FollowedList, others)]
    store.add_pages(lists[0].pages, 0.0)
    write(B)
    for now in (1.0, 2.0):
        carried_out(lists[0], store, now, lists)
    assert watched(store) == {A: 5.0, B: 1.0}


def test_a_page_that_was_removed_does_not_come_back_when_a_list_drops_it(path, write, store):
    write(A, B)
    other_path = path.with_name("others.txt")
    other_path.write_text(f"{A}\n")
    both = [FollowedList(path), FollowedList(other_path)]
    store.add_pages(both[0].pages, 0.0)
    store.remove_pages([0], 0.5)
    write(B)
    for now in (1.0, 2.0):
        assert carried_out(both[0], store, now, both) == []


def test_an_empty_list_takes_no_page_away_at_a_start(path, write, store):
    write(A, B)
    store.add_pages(FollowedList(path).pages, 0.0)
    write("# nothing")
    emptied = FollowedList(path)
    assert emptied.remove_missing(store, 1.0, [emptied]) == []
    assert watched(store) == {A: 1.0, B: 1.0}


def test_a_cost_that_a_line_says_no_more_is_the_usual_one(path, write, store):
    write(f"{A} render=yes cost=5", f"{B} render=yes", f"{C} cost=5")
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    assert [record.page.cost for record in store.pages()] == [5.0, 10.0, 5.0]
    write(f"{A} render=yes", B, f"{C} cost=5 render=yes")
    looked_twice(followed, store)
    assert [record.page.cost for record in store.pages()] == [10.0, 1.0, 5.0]


def test_a_page_that_another_list_names_stays_until_that_one_drops_it(path, write, store):
    write(A, B)
    other_path = path.with_name("others.txt")
    other_path.write_text(f"{A}\n")
    both = [FollowedList(path), FollowedList(other_path)]
    for one in both:
        store.add_pages(one.pages, 0.0)
    write(B)
    for now in (1.0, 2.0):
        assert carried_out(both[0], store, now, both) == []
    assert FollowedList(path).remove_missing(store, 3.0, both) == []
    other_path.write_text(f"{C}\n{B}\n")
    assert carried_out(both[1], store, 4.0, both) == []
    done = what_was_done(carried_out(both[1], store, 5.0, both))
    assert done == [f"added: {C}", f"unchanged: {B}", f"removed: {A}"]


def test_what_a_locked_database_refused_is_tried_again(path, write, store, monkeypatch):
    write(A)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    write(B)

    def locked(*_: object) -> None:
        raise StoreBusyError("locked")

    assert carried_out(followed, store, 1.0) == []
    with monkeypatch.context() as patch:
        patch.setattr(store, "remove_pages", locked)
        with pytest.raises(StoreBusyError):
            carried_out(followed, store, 2.0)
    assert watched(store) == {A: 1.0}
    done = what_was_done(carried_out(followed, store, 3.0))
    assert done == [f"added: {B}", f"removed: {A}"]


def test_pages_that_were_named_otherwise_stay(path, write, store):
    store.add_pages([NewPage(A, "a.example")], 0.0)
    write(A, B, C)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.5)
    store.add_pages([NewPage(B, "b.example", listed_in="")], 0.7)
    write("http://d.example/")
    assert looked_twice(followed, store) == ["added: http://d.example/", f"removed: {C}"]
    assert watched(store).keys() == {A, B, "http://d.example/"}


def test_what_went_while_nobody_watched_goes_at_the_start(path, write, store):
    write(A, B)
    store.add_pages(FollowedList(path).pages, 0.0)
    write(B)
    [carried] = FollowedList(path).remove_missing(store, 1.0)
    assert [page.url for page in carried.removed] == [A]


def test_a_file_that_cannot_be_used_changes_nothing(path, write, store):
    write(A)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    path.unlink()
    [told] = looked_twice(followed, store)
    assert told.startswith(f"{path}: the URL list cannot be read (")
    write("rubbish")
    [told] = looked_twice(followed, store)
    assert told.startswith(f"{path}, line 1: not a URL")
    write()
    assert looked_twice(followed, store) == [
        f"{path} names no page; its pages are watched as before"
    ]
    write(A, B)
    well_again = f"{path} can be read again, and is followed"
    assert looked_twice(followed, store) == [f"added: {B}", well_again]
    write(A)
    assert looked_twice(followed, store) == [f"removed: {B}"]


def test_a_file_that_comes_back_as_it_was_is_told(path, write, store):
    write(A)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    aside = path.rename(path.with_name("aside.txt"))
    [told] = looked_twice(followed, store)
    assert told.startswith(f"{path}: the URL list cannot be read (")
    aside.rename(path)
    assert looked_twice(followed, store) == [f"{path} can be read again, and is followed"]


def test_a_file_is_read_again_when_only_its_permissions_changed(path, write, store):
    def read(path: Path, say: Callable[[str], None]) -> list[NewPage]:
        if not path.stat().st_mode & 0o400:
            raise InputError(f"{path}: the URL list cannot be read (Permission denied)")
        return read_url_list(path)

    write(A)
    followed = FollowedList(path, read)
    store.add_pages(followed.pages, 0.0)
    path.chmod(0)
    assert len(looked_twice(followed, store)) == 1
    path.chmod(0o600)
    assert looked_twice(followed, store) == [f"{path} can be read again, and is followed"]


def test_a_file_that_is_still_being_written_is_left_alone(path, write, store):
    write(A)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    for lines in ([B], [B, C], [A, B, C]):
        write(*lines)
        assert carried_out(followed, store, 1.0) == []
    assert what_was_done(carried_out(followed, store, 2.0)) == [f"2 pages added: {B} and 1 more"]


def test_a_line_that_does_not_count_is_told_of_at_first_and_when_it_comes(path, write, store):
    told = list[str]()
    write(A, f"{A} weight=2")
    followed = FollowedList(path)
    followed.tell(told.append)
    followed.tell(told.append)
    assert told == [
        f"{path}: line 2 does not count, as line 1 names {A} already, with other words: keep one"
        " of them"
    ]
    store.add_pages(followed.pages, 0.0)
    write(B, A, f"{A} weight=2")
    pages_added, not_counted = looked_twice(followed, store)
    assert pages_added == f"added: {B}"
    assert not_counted.startswith(f"{path}: line 3 does not count")


def test_a_file_that_is_not_there_at_first_is_an_error(path):
    with pytest.raises(InputError, match="cannot be read"):
        FollowedList(path)


def test_of_many_pages_each_part_is_carried_out_by_itself(path, write, store):
    write(A)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    many = [f"http://a.example/{number}" for number in range(2500)]
    write(*many)
    assert carried_out(followed, store, 1.0) == []
    parts = []
    while done := carried_out(followed, store, 2.0):
        parts.append(what_was_done(done))
        if len(parts) == 1:  # somebody else may be at work between two parts
            carry_out(store, RemovePages((A,)), 2.0)
            store.add_pages([NewPage(many[-1])], 2.0)
    assert parts == [
        ["1,000 pages added: http://a.example/0 and 999 more"],
        ["1,000 pages added: http://a.example/1000 and 999 more"],
        [
            "499 pages added: http://a.example/2000 and 498 more",
            "set: http://a.example/2499",
        ],
    ]
    assert set(watched(store)) == set(many)
    assert [page.url for page in followed.pages] == many


def test_a_file_that_changes_between_two_parts_is_looked_at_again(path, write, store):
    write(A)
    followed = FollowedList(path)
    store.add_pages(followed.pages, 0.0)
    many = [f"http://a.example/{number}" for number in range(1500)]
    write(A, *many)
    assert carried_out(followed, store, 1.0) == []
    assert len(carried_out(followed, store, 2.0)) == 1
    write(A, *many[:700])
    assert len(carried_out(followed, store, 3.0)) == 1
    assert set(watched(store)) == {A, *many}
    assert carried_out(followed, store, 4.0) == []
    assert what_was_done(carried_out(followed, store, 5.0)) == [
        "800 pages removed: http://a.example/700 and 799 more"
    ]
    assert set(watched(store)) == {A, *many[:700]}
