"""The bound on open files, and what it leaves for polls."""

import resource

import pytest

from pollwise.errors import InputError
from pollwise.web.descriptors import make_room, most_polls


@pytest.fixture
def limit():
    """Sets the soft limit; the one before comes back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda files: resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_room_is_made_and_never_taken(limit):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit(256)
    make_room()
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft >= min(hard, 8192)
    make_room()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == soft


def test_too_little_room_is_refused(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (20, 63))
    with pytest.raises(InputError, match="the limit on open files is 63: 64 are needed, raise it"):
        make_room()


@pytest.mark.parametrize(("files", "polls"), [(64, 1), (256, 42), (1024, 298)])
def test_polls_by_descriptors(limit, files, polls):
    limit(files)
    assert most_polls() == polls
