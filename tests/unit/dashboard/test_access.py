"""Who may ask: names, origins, tokens, proxies, sizes."""

import hmac
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send
from tests.unit.dashboard.asked import Told, ask

from pollwise.dashboard.access import MOST_BYTES, Guard
from pollwise.dashboard.terms import AnsweringTerms

TOKEN = "a-token-that-is-long"
PERSON = "text/html,application/xhtml+xml"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Tells how many bytes came."""
    request = Request(scope, receive)
    try:
        answer: Response = PlainTextResponse(str(len(await request.body())))
    except ClientDisconnect:
        answer = PlainTextResponse("gone", 413)
    answer.headers["Cache-Control"] = "max-age=60"
    await answer(scope, receive, send)


def guarded(**terms: Any) -> Guard:
    told = AnsweringTerms(Path("x.db"), **terms)
    return Guard(
        echo,
        terms=told,
        login_page=lambda target, why: PlainTextResponse(f"login {target} {why}".strip(), 401),
    )


def is_refused(answer: Told, status: int) -> bool:
    document = json.loads(answer.body)
    assert document.keys() == {"error", "field"}
    return answer.status == status


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8900", "127.0.0.1", "[::1]:8900", "10.0.0.7", "nas", "NAS.:80"]
)
async def test_own_names_may_ask(host: str) -> None:
    assert (await ask(guarded(names=("nas",)), "GET", "/", host=host)).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "nas.evil.example", "", "[::1", "a@b", None]
)
async def test_other_names_may_not(host: str | None) -> None:
    app = guarded(names=("nas",))
    assert is_refused(await ask(app, "GET", "/", host=host), 421)
    # Not even with the token, nor for what is open to all.
    app = guarded(names=("nas",), token=TOKEN)
    known = {"authorization": f"Bearer {TOKEN}"}
    assert is_refused(await ask(app, "GET", "/healthz", host=host, **known), 421)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # a program
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none"}, 200),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "cross-site", "origin": "http://127.0.0.1:8900"}, 403),
        ({"origin": "http://127.0.0.1:8900"}, 200),
        ({"origin": "http://127.0.0.1:8901"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
async def test_pages_of_other_origins_do_nothing(
    headers: dict[str, str], status: int, method: str
) -> None:
    assert (await ask(guarded(), method, "/api/pages", **headers)).status == status
    # They may open a page, which they cannot read.
    assert (await ask(guarded(), "GET", "/", **headers)).status == 200


async def test_a_token_is_asked_for() -> None:
    app = guarded(token=TOKEN)
    answer = await ask(app, "GET", "/api/status")
    assert is_refused(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert (await ask(app, "GET", "/pages?q=1", accept=PERSON)).body == b"login /pages?q=1"
    for path in ("/healthz", "/static/dashboard.css"):
        assert (await ask(app, "GET", path)).status == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
async def test_programs_send_it_as_bearer(scheme: str) -> None:
    app = guarded(token=TOKEN)
    assert (await ask(app, "GET", "/x", authorization=f"{scheme} {TOKEN}")).status == 200
    assert is_refused(await ask(app, "GET", "/x", authorization=f"{scheme} {TOKEN}x"), 401)
    assert is_refused(await ask(app, "GET", "/x", authorization=f"Basic {TOKEN}"), 401)
    # A wrong one is not mended by a cookie.
    cookie = (await login(app, TOKEN, "/")).headers["set-cookie"].partition(";")[0]
    answer = await ask(app, "GET", "/x", authorization="Bearer wrong", cookie=cookie)
    assert is_refused(answer, 401)
    assert (await ask(app, "GET", f"/x?token={TOKEN}")).status == 200


async def test_people_give_it_once() -> None:
    app = guarded(token=TOKEN)
    answer = await ask(app, "GET", f"/pages?q=a%26b&token={TOKEN}&sort=url", accept=PERSON)
    assert (answer.status, answer.headers["location"]) == (303, "/pages?q=a%26b&sort=url")
    kept = answer.headers["set-cookie"]
    assert "HttpOnly" in kept
    assert "SameSite=strict" in kept
    assert "Secure" not in kept
    cookie = kept.partition(";")[0]
    assert (await ask(app, "GET", "/pages", accept=PERSON, cookie=cookie)).status == 200
    wrong = await ask(app, "GET", "/pages?token=guess", accept=PERSON)
    assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)


async def login(app: Guard, token: str, target: str, **headers: str) -> Told:
    body = urlencode({"token": token, "next": target}).encode()
    return await ask(app, "POST", "/login", body=body, **headers)


async def test_the_login_page_lets_in() -> None:
    app = guarded(token=TOKEN)
    answer = await login(app, f" {TOKEN} ", "/pages?x=1")
    assert (answer.status, answer.headers["location"]) == (303, "/pages?x=1")
    cookie = answer.headers["set-cookie"].partition(";")[0]
    # Whoever gets hold of it has not got the token.
    assert TOKEN not in cookie
    assert cookie.startswith("pollwise_8900=")
    assert (await ask(app, "GET", "/x", cookie=cookie)).status == 200
    name, until, signature = re.split("[=.]", cookie)
    for other in (f"{name}={int(until) + 1}.{signature}", f"{name}={until}.{'0' * 64}", f"{name}="):
        assert (await ask(app, "GET", "/x", cookie=other)).status == 401
    past = int(time.time()) - 1
    signed = hmac.digest(TOKEN.encode(), str(past).encode(), "sha256").hex()
    assert (await ask(app, "GET", "/x", cookie=f"{name}={past}.{signed}")).status == 401
    wrong = await login(app, "guess", "/pages")
    assert (wrong.status, wrong.body) == (401, b"login /pages That is not the token.")
    assert "set-cookie" not in wrong.headers
    assert (await login(app, TOKEN, "/", sec_fetch_site="cross-site")).status == 403


@pytest.mark.parametrize(
    "told", [{"x_forwarded_proto": "https"}, {"origin": "https://nas", "host": "nas"}]
)
async def test_behind_tls_the_cookie_goes_over_nothing_else(told: dict[str, str]) -> None:
    answer = await login(guarded(token=TOKEN, names=("nas",)), TOKEN, "/", **told)
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "target",
    [
        "http://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "/\t/evil.example/",
        "\\\\evil.example",
        "javascript:alert(1)",
        "evil.example",
        "",
        "/%0d%0aSet-Cookie:x=1\r\nx: y",
    ],
)
async def test_nobody_is_sent_elsewhere(target: str) -> None:
    answer = await login(guarded(token=TOKEN), TOKEN, target)
    assert answer.status == 303
    assert leads_here(answer.headers["location"])


@given(st.text(alphabet="/\\.:@?#%\t\r\n evilhttps", max_size=20))
async def test_nobody_is_sent_elsewhere_by_any_text(target: str) -> None:
    answer = await login(guarded(token=TOKEN), TOKEN, target)
    assert leads_here(answer.headers["location"])


def leads_here(location: str) -> bool:
    """As browsers read it: backslashes are slashes, tabs and ends of lines are nothing."""
    read = "".join(one for one in location if one not in "\t\r\n").replace("\\", "/")
    is_plain = location.isprintable()
    return is_plain and read.startswith("/") and urlsplit(read)[:2] == ("", "") and read[1:2] != "/"


async def test_a_path_of_two_slashes_is_no_way_out() -> None:
    answer = await ask(guarded(token=TOKEN), "GET", f"//evil.example/?token={TOKEN}", accept=PERSON)
    assert answer.status == 303
    assert leads_here(answer.headers["location"])


async def test_a_proxy_vouches() -> None:
    app = guarded(proxies=("10.0.0.1",), names=("watch.example",))
    known = await ask(app, "GET", "/x", client="10.0.0.1", host="watch.example")
    assert known.status == 200
    assert is_refused(await ask(app, "GET", "/x", client="10.0.0.2"), 401)
    assert is_refused(await ask(app, "GET", "/x?token=", client="10.0.0.2"), 401)
    forged = await ask(app, "GET", "/x", client="10.0.0.2", x_forwarded_for="10.0.0.1")
    assert is_refused(forged, 401)
    # Pages of other origins come through the proxy, too.
    cross = await ask(app, "POST", "/x", client="10.0.0.1", sec_fetch_site="cross-site")
    assert is_refused(cross, 403)


async def test_bodies_are_bounded() -> None:
    app = guarded()
    assert (await ask(app, "POST", "/x", body=b"x" * MOST_BYTES)).body == str(MOST_BYTES).encode()
    assert is_refused(await ask(app, "POST", "/x", body=b"x" * (MOST_BYTES + 1)), 413)
    assert is_refused(await ask(app, "POST", "/x", content_length="-1"), 413)
    assert is_refused(await ask(app, "POST", "/x", content_length="1e3"), 413)
    # One that does not say how long it is.
    long = await ask(app, "POST", "/x", body=b"x" * (MOST_BYTES + 1), parts=9)
    assert (long.status, long.body) == (413, b"gone")
    logs_in = await ask(
        guarded(token=TOKEN), "POST", "/login", body=b"x" * (MOST_BYTES + 1), parts=9
    )
    assert is_refused(logs_in, 413)


@pytest.mark.parametrize(
    ("target", "headers"),
    [("/", {}), ("/static/x", {}), ("/x", {"host": "evil.example"}), ("/feed.atom", {})],
)
async def test_every_answer_is_kept_from_others(target: str, headers: dict[str, str]) -> None:
    answer = await ask(guarded(), "GET", target, **headers)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-frame-options"] == "DENY"
    may_be_kept = target in ("/static/x", "/feed.atom")
    assert answer.headers["cache-control"] == ("max-age=60" if may_be_kept else "no-store")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1/healthz?",
        "127.0.0.1:8900/static/x?",
        "127.0.0.1#",
        "127.0.0.1?",
        "x@127.0.0.1",
        "127.0.0.1 ",
    ],
)
async def test_a_host_cannot_stand_for_another_path(host: str) -> None:
    app = guarded(token=TOKEN)
    assert (await ask(app, "GET", "/api/status", host=host)).status in (401, 421)


async def test_nothing_but_the_path_itself_needs_no_token() -> None:
    app = guarded(token=TOKEN)
    for path in ("/healthzz", "/healthz/x", "/staticx", "/x/static/y"):
        assert (await ask(app, "GET", path)).status == 401


@pytest.mark.parametrize("body", [b"&".join(b"a=1" for _ in range(50)), b"token=\xff", b"\x00"])
async def test_what_is_no_login_form_is_told(body: bytes) -> None:
    app = guarded(token=TOKEN)
    answer = await ask(app, "POST", "/login", body=body)
    assert answer.status in (401, 413)


async def test_what_only_a_link_may_lead_to() -> None:
    app = guarded()
    from_elsewhere = {"sec_fetch_site": "cross-site"}
    followed = await ask(app, "GET", "/x", sec_fetch_mode="navigate", **from_elsewhere)
    assert followed.status == 200
    for mode in ("no-cors", "cors", "websocket"):
        answer = await ask(app, "GET", "/x", sec_fetch_mode=mode, **from_elsewhere)
        assert answer.status == 403


async def test_who_is_refused_for_a_proxy_that_hands_on_no_host_is_told_the_mend() -> None:
    app = guarded(token=TOKEN)
    asked = {"host": "127.0.0.1:8900", "origin": "http://watch.example"}
    refused = await ask(app, "POST", "/login", **asked)
    assert is_refused(refused, 403)
    assert "it must hand on Host as it came, and --name" in json.loads(refused.body)["error"]
    foreign = await ask(app, "POST", "/login", **asked, sec_fetch_site="cross-site")
    assert "proxy" not in json.loads(foreign.body)["error"]
