"""What a page asks for, and what it gets, where each host is a made-up one."""

import asyncio

import pytest

from pollwise.errors import PostponedError
from pollwise.web.fetcher import Asking, FetchResult
from pollwise.web.rendering.page_parts import PageParts

PAGE = "https://a.example/app"
OWN, OTHER = "https://a.example/data", "https://b.example/data"


class Hosts:
    """Hosts with these answers by URL; `asked` has each request, with its headers."""

    def __init__(self) -> None:
        self.answers: dict[str, FetchResult] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.disallowed: set[str] = set()
        self.parts = PageParts(PAGE, self.fetch_part, self.refusal)

    def says(self, url: str, **fields: object) -> None:
        self.answers[url] = FetchResult(url, url, **{"status": 200, "body": b"x", **fields})

    async def fetch_part(self, url: str, asking: Asking) -> FetchResult:
        assert asking.scope == "a.example"
        self.asked.append((url, dict(asking.headers)))
        if url not in self.answers:
            raise PostponedError("busy")
        return self.answers[url]

    async def refusal(self, url: str) -> str | None:
        return "refused" if url in self.disallowed else None

    async def get(self, url: str, is_script: bool = False, **headers: str) -> bytes | None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.parts.fetch(url, named, is_script=is_script)
        return None if answer is None else answer.body


@pytest.fixture
def hosts() -> Hosts:
    return Hosts()


async def test_headers_of_the_script_go_along_and_ours_do_not(hosts):
    hosts.says(OWN)
    sent = {"x_key": "1", "accept": "a/b", "cookie": "c", "user_agent": "u", "sec_fetch_mode": "m"}
    assert await hosts.get(OWN, **sent) == b"x"
    assert hosts.asked == [(OWN, {"x-key": "1", "accept": "a/b"})]


async def test_a_redirect_is_followed_and_takes_headers_to_no_other_origin(hosts):
    hosts.says(OWN, status=302, error="redirected", redirected_to=OTHER)
    hosts.says(OTHER, allowed_origin="https://a.example")
    assert await hosts.get(OWN, authorization="key") == b"x"
    assert hosts.asked == [
        (OWN, {"authorization": "key"}),
        (OTHER, {"origin": "https://a.example"}),
    ]
    assert hosts.parts.requests == 2


async def test_a_redirect_to_itself_ends(hosts):
    hosts.says(OWN, status=302, error="redirected", redirected_to=OWN)
    assert await hosts.get(OWN) is None
    assert hosts.parts.requests == 6


@pytest.mark.parametrize("url", [OTHER, OWN])
async def test_a_redirect_goes_where_robots_txt_lets_it(hosts, url):
    hosts.says(OWN, status=302, error="redirected", redirected_to=OTHER)
    hosts.disallowed.add(url)
    assert await hosts.get(OWN) is None
    assert hosts.parts.requests == (2 if url == OTHER else 1)  # what is refused counts


@pytest.mark.parametrize(
    ("allowed", "is_read"),
    [(None, False), ("https://c.example", False), ("*", True), ("https://a.example", True)],
)
async def test_data_of_others_is_read_as_they_allow(hosts, allowed, is_read):
    hosts.says(OTHER, allowed_origin=allowed)
    assert (await hosts.get(OTHER) is not None) == is_read
    assert await hosts.get(OTHER, is_script=True) == b"x"


@pytest.mark.parametrize("url", ["data:text/plain,x", "http://[", "https://busy.example/"])
async def test_what_cannot_be_had_is_nothing(hosts, url):
    assert await hosts.get(url) is None


async def test_what_nobody_gets_gives_its_place_back(hosts):
    released = []
    hosts.says(OTHER, release=lambda: released.append(OTHER))
    hosts.says(OWN, error="cut off", release=lambda: released.append(OWN))
    assert [await hosts.get(url) for url in (OTHER, OWN)] == [None, None]
    assert released == [OTHER, OWN]
    assert await hosts.get(OTHER, is_script=True) == b"x"
    assert released == [OTHER, OWN], "who got the answer releases it"


async def test_there_is_an_end_to_requests(hosts):
    hosts.says(OWN)
    got = await asyncio.gather(*(hosts.get(OWN) for _ in range(120)))
    assert got.count(b"x") == hosts.parts.requests == len(hosts.asked) == 100
