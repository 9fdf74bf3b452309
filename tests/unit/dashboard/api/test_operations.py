"""The JSON API: what it answers, what it refuses, and the document that describes it."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import openapi_spec_validator
from starlette.applications import Starlette
from starlette.routing import Route
from tests.unit.dashboard.asked import ask
from tests.unit.insight.a_watch import POLLS, URLS

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.routes import api_operations
from pollwise.dashboard.application import application
from pollwise.dashboard.foreseen import ahead_of
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.insight.documents import document
from pollwise.insight.explanation import read_explanation
from pollwise.insight.status import read_status
from pollwise.store import Store

EVERY = quote(URLS[0], safe="")


async def described(app: Starlette) -> Any:
    answer = await ask(app, "GET", "/api/openapi.json")
    assert answer.status == 200
    return answer.json


def validator(api: Any, path: str, method: str, status: int) -> Any:
    content = api["paths"][path][method.lower()]["responses"][str(status)]["content"]
    schema = content["application/json"]["schema"]
    return jsonschema_rs.validator_for({**schema, "components": api["components"]})


async def test_every_route_is_described(app: Starlette):
    api = await described(app)
    routes = {
        (route.path.replace(":number", ""), method)
        for route in app.routes
        if isinstance(route, Route) and route.path.startswith("/api/")
        for method in (route.methods or ()) - {"HEAD"}
    }
    told = {(path, method.upper()) for path, one in api["paths"].items() for method in one}
    assert routes == told | {("/api/openapi.json", "GET")}
    names = [one["operationId"] for each in api["paths"].values() for one in each.values()]
    assert len(set(names)) == len(names)


async def test_the_document_is_openapi(app: Starlette):
    openapi_spec_validator.validate(await described(app))


ANSWERED = [
    ("/api/status", "/api/status"),
    ("/api/hosts", "/api/hosts?sort=polls&limit=1"),
    ("/api/plan", "/api/plan?curve=true&freshness=0.5"),
    ("/api/plan", "/api/plan"),
    ("/api/plan/budget", "/api/plan/budget?budget=1/day/page"),
    ("/api/settings", "/api/settings"),
    ("/api/pages", "/api/pages?sort=rate&state=watched&tag=x"),
    ("/api/pages/{page}", "/api/pages/{page}"),
    ("/api/page", f"/api/page?url={EVERY}"),
    ("/api/pages/{page}/history", "/api/pages/{page}/history?limit=5"),
    ("/api/page/history", f"/api/page/history?url={EVERY}"),
    ("/api/changes", "/api/changes?unread=true"),
    ("/api/changes", f"/api/changes?url={EVERY}"),
]


async def test_answers_are_as_described(app: Starlette, asking: Any):
    api = await described(app)
    first = (await asking("GET", "/api/pages?filter=every")).json["results"][0]["id"]
    for path, target in ANSWERED:
        answer = await asking("GET", target.replace("{page}", str(first)))
        assert answer.status == 200, (target, answer.body)
        validator(api, path, "GET", 200).validate(answer.json)


async def test_answers_are_those_of_the_commands(asking: Any, db: Path):
    told = (await asking("GET", "/api/status")).json
    known = document(read_status(db))
    of_now = {"forecast": None, "growth": None}
    assert {**told, **of_now} == {**known, **of_now}
    told = (await asking("GET", f"/api/page?url={EVERY}")).json
    known = document(read_explanation(db, URLS[0]))
    of_page = ("chance", "index", "price", "due_at", "next_poll_at")
    assert {n: told[n] for n in told if n not in of_page} == {
        n: known[n] for n in known if n not in of_page
    }


async def test_pages_are_added_changed_and_removed(asking: Any, db: Path):
    url = "http://c.example/"
    added = await asking("POST", "/api/pages", told={"urls": [url, url], "tags": ["a,b"]})
    assert (added.status, added.json["added"]) == (200, [url])
    changed = await asking(
        "PATCH", f"/api/page?url={quote(url)}", told={"weight": 2, "paused": True, "tags": []}
    )
    assert changed.json["changed"] == [url]
    with Store.open_readonly(db) as store:
        page = store.find_page(url).page
    assert (page.weight, page.paused, page.tags) == (2.0, True, ())
    assert (await asking("DELETE", f"/api/page?url={quote(url)}")).json["removed"] == [url]
    assert (await asking("DELETE", f"/api/page?url={quote(url)}")).status == 404


async def test_of_pages_that_are_all_paused_nothing_is_planned(asking: Any):
    for url in URLS:
        await asking("PATCH", f"/api/page?url={quote(url)}", told={"paused": True})
    for target in ("/api/plan?curve=true", "/api/plan/budget?budget=1/hour"):
        answer = await asking("GET", target)
        assert (answer.status, "all pages are paused" in answer.json["error"]) == (409, True)


async def test_all_urls_that_cannot_be_used_are_told(asking: Any):
    told = {"urls": ["ftp://a.example", "http://a.example/new", "nowhere"]}
    for target in ("/api/pages", "/api/signals"):
        answer = await asking("POST", target, told=told)
        assert (answer.status, answer.json["field"]) == (400, "urls")
        assert answer.json["error"].startswith("urls[0]: ftp is not fetched")
        assert "; urls[2]: " in answer.json["error"]


async def test_settings_are_changed(asking: Any, db: Path):
    told = {"budget": "7/hour", "shares": ["x=30%"], "quiet": ["22:00-06:30"], "keep": "20"}
    answer = await asking("PATCH", "/api/settings", told=told)
    shown = (await asking("GET", "/api/settings")).json
    assert (answer.status, answer.json) == (200, shown)
    assert {name: shown[name] for name in told} == told
    assert (await asking("PATCH", "/api/settings", told={"shares": []})).status == 200


async def test_changes_are_marked_as_read(asking: Any):
    async def unread() -> list[int]:
        listed = (await asking("GET", "/api/changes?unread=true")).json
        return [one["seq"] for one in listed["changes"]]

    seqs = await unread()
    assert len(seqs) == POLLS - 1
    for marked in (1, 0):
        answer = await asking("POST", "/api/changes/read", told={"seqs": seqs[-1:]})
        assert (answer.status, answer.json["marked"]) == (200, marked)
    assert await unread() == seqs[:-1]
    told = {"seqs": seqs[-1:], "read": False}
    assert (await asking("POST", "/api/changes/read", told=told)).status == 200
    assert await unread() == seqs
    assert (await asking("POST", "/api/changes/read", told={"up_to": seqs[5]})).status == 200
    assert await unread() == seqs[6:]
    after = (await asking("GET", f"/api/changes?after={seqs[-3]}&limit=1")).json
    assert ([one["seq"] for one in after["changes"]], after["left_out"]) == (seqs[-1:], 1)


async def test_changes_of_one_page_are_listed(asking: Any):
    changes = (await asking("GET", "/api/changes?unread=true")).json["changes"]
    for url in {one["url"] for one in changes}:
        listed = (await asking("GET", f"/api/changes?url={quote(url)}")).json["changes"]
        assert listed == [one for one in changes if one["url"] == url]
    for url, status in (("http://never.example/", 404), ("nothing", 400)):
        answer = await asking("GET", f"/api/changes?url={url}")
        assert (answer.status, answer.json["field"]) == (status, "url")


async def test_signals(asking: Any):
    told = {"urls": [URLS[0], "http://nobody.example/"]}
    answer = await asking("POST", "/api/signals", told=told)
    assert answer.status == 202
    assert answer.json == {"signalled": 1, "unknown": ["http://nobody.example/"]}
    assert (await asking("POST", "/api/signals", told={"urls": told["urls"][1:]})).status == 404


async def refusal(asking: Any, method: str, target: str, **more: Any) -> tuple[int, str | None]:
    answer = await asking(method, target, **more)
    assert answer.json.keys() == {"error", "field"}
    assert answer.json["error"]
    assert "\n" not in answer.json["error"]
    return answer.status, answer.json["field"]


REFUSED: list[tuple[str, str, dict[str, Any], tuple[int, str | None]]] = [
    ("GET", "/api/pages?limit=1001", {}, (400, "limit")),
    ("GET", "/api/pages?sort=colour", {}, (400, "sort")),
    ("GET", "/api/pages?limit=1&limit=2", {}, (400, "limit")),
    ("GET", "/api/pages?colour=red", {}, (400, "colour")),
    ("GET", "/api/pages/99999", {}, (404, None)),
    ("GET", f"/api/pages/{10**30}", {}, (404, None)),
    ("GET", f"/api/pages/{'1' * 5_000}", {}, (404, None)),
    ("GET", f"/api/pages/{10**18 - 1}", {}, (404, None)),
    ("DELETE", f"/api/pages/{'1' * 5_000}", {}, (404, None)),
    ("GET", "/api/pages/x", {}, (404, None)),
    ("GET", "/api/page", {}, (400, "url")),
    ("GET", "/api/page?url=ftp://x/", {}, (400, "url")),
    ("GET", "/api/page?url=http://nobody.example/", {}, (404, "url")),
    ("GET", "/api/page/history?url=http://nobody.example/", {}, (404, "url")),
    ("GET", f"/api/page/diff?url={EVERY}&before=999", {}, (404, "before")),
    ("GET", "/api/changes?since=soon", {}, (400, "since")),
    ("GET", "/api/plan?freshness=2", {}, (400, "freshness")),
    ("GET", "/api/plan/budget?budget=much", {}, (400, "budget")),
    ("GET", "/api/plan/budget?budget=9999/second", {}, (400, "budget")),
    ("GET", "/api/collection", {}, (404, None)),
    ("PUT", "/api/status", {}, (405, None)),
    ("POST", "/api/pages", {"body": b"urls=x"}, (415, None)),
    (
        "POST",
        "/api/pages",
        {"body": b"{}", "content_type": "application/x-www-form-urlencoded"},
        (415, None),
    ),
    ("POST", "/api/pages", {"body": b"{", "content_type": "application/json"}, (400, None)),
    ("POST", "/api/pages", {"body": b"\xff", "content_type": "application/json"}, (400, None)),
    (
        "POST",
        "/api/pages",
        {"body": b"[" * 100_000, "content_type": "application/json"},
        (400, None),
    ),
    (
        "POST",
        "/api/pages",
        {
            "body": b'{"urls": ["http://c.example/"], "urls": []}',
            "content_type": "application/json",
        },
        (400, "urls"),
    ),
    ("POST", "/api/pages", {"told": []}, (400, None)),
    ("POST", "/api/pages", {"told": {}}, (400, "urls")),
    ("POST", "/api/pages", {"told": {"urls": ["javascript:alert(1)"]}}, (400, "urls")),
    ("POST", "/api/pages", {"told": {"urls": ["http://a.example/"], "x": 1}}, (400, "x")),
    (
        "POST",
        "/api/pages",
        {"told": {"urls": ["http://a.example/", "http://b.example/"], "name": "A"}},
        (400, "name"),
    ),
    ("PATCH", f"/api/page?url={EVERY}", {"told": {}}, (400, None)),
    ("PATCH", f"/api/page?url={EVERY}", {"told": {"weight": -1}}, (400, "weight")),
    ("PATCH", f"/api/page?url={EVERY}", {"told": {"at_least": "often"}}, (400, "at_least")),
    ("PATCH", f"/api/page?url={EVERY}", {"told": {"tags": ["a b"]}}, (400, "tags")),
    ("PATCH", f"/api/page?url={EVERY}", {"told": {"select": ["a\nb"]}}, (400, "select")),
    ("PATCH", f"/api/page?url={EVERY}", {"told": {"name": "a\nb"}}, (400, "name")),
    ("PATCH", "/api/settings", {"told": {}}, (400, None)),
    ("PATCH", "/api/settings", {"told": {"budget": "0/hour"}}, (400, "budget")),
    ("PATCH", "/api/settings", {"told": {"shares": ["x=130%"]}}, (400, "shares")),
    ("PATCH", "/api/settings", {"told": {"quiet": ["25:00-26:00"]}}, (400, "quiet")),
    ("PATCH", "/api/settings", {"told": {"keep": "none"}}, (400, "keep")),
    ("PATCH", "/api/settings", {"told": {"objective": "x"}}, (400, "objective")),
    ("POST", "/api/changes/read", {"told": {}}, (400, "seqs")),
    ("POST", "/api/changes/read", {"told": {"up_to": 3, "read": False}}, (400, "up_to")),
    ("POST", f"/api/page/masks?url={EVERY}", {"told": {"text": "x"}}, (400, "text")),
    ("DELETE", f"/api/page/masks/1?url={EVERY}", {}, (404, None)),
    ("DELETE", f"/api/page/masks?url={EVERY}", {}, (404, None)),
]


async def test_what_cannot_be_is_refused_and_changes_nothing(asking: Any, db: Path):
    with Store.open_readonly(db) as store:
        before = store.pages(), store.changed_settings()
        for method, target, more, expected in REFUSED:
            told = await refusal(asking, method, target, **more)
            assert told == expected, (method, target, more)
        assert (store.pages(), store.changed_settings()) == before


async def test_too_long_a_body_is_refused(asking: Any):
    told = await refusal(
        asking,
        "POST",
        "/api/pages",
        body=b" " * (2**20 + 1),
        parts=5,
        content_type="application/json",
    )
    assert told == (413, None)


async def test_a_collection_is_shown_and_not_changed(collection_db: Path):
    async with Answers(collection_db) as answers:
        app = application(answers, AnsweringTerms(collection_db), None)
        api = await described(app)
        page = "/api/page?url=http://sea.example/"
        for path, target in (
            *((path, path) for path in ("/api/collection", "/api/status", "/api/settings")),
            *((path, path) for path in ("/api/pages", "/api/hosts")),
            ("/api/page", page),
        ):
            answer = await ask(app, "GET", target)
            assert answer.status == 200, (target, answer.body)
            validator(api, path, "GET", 200).validate(answer.json)
        url = {"urls": ["http://sea.example/"]}
        for method, target, told in (
            ("POST", "/api/pages", url),
            ("PATCH", page, {"weight": 2}),
            ("DELETE", page, None),
            ("PATCH", "/api/settings", {"budget": "1/hour"}),
            ("POST", "/api/changes/read", {"up_to": 1}),
            ("POST", "/api/signals", url),
            ("GET", "/api/plan", None),
            ("GET", "/api/plan/budget?budget=1/hour", None),
        ):
            answer = await ask(app, method, target, told=told)
            assert answer.status == 409, (target, answer.body)


def test_operations_name_what_they_refuse(answers: Answers):
    for one in api_operations(answers, ahead_of(answers)):
        assert set(one.refusals) <= {404, 409}
        assert one.summary.endswith(".")
