"""The API, asked for half an hour what fits its document, what does not, and what means ill.

    python benchmarks/fuzz_api.py [--minutes 30] [--db FILE] [--round 1]

Each round serves a small watch and a small collection anew (with --db: a copy of that database),
and asks each operation what schemathesis makes up: what fits the document, what breaks it, and what
fits and names pages that are there. Then come requests that no library would send. It prints the
requests of each round. It fails (exit status 1) if an answer is not as documented, or is 5xx, or if
anything is in the database that no request asked for that was granted; it says which request, and
`--round` begins with the round that had it.
"""

import argparse
import copy
import http.client
import json
import random
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import jsonschema_rs
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from pollwise.dashboard.access import MOST_BYTES
from pollwise.store import Store

sys.path.append(str(Path(__file__).parents[1]))

from tests.live.answering import NOT_CHECKED, answering_for
from tests.unit.insight.a_collection import make_collection
from tests.unit.insight.a_watch import make_watch
from tests.unit.insight.held import Held

EXAMPLES = 12
"""Of each operation and kind, in a round."""
SECONDS = 60.0
"""After which a client gives up; the server must have cut the connection long before."""
REJECTED = [400, 404, 405, 409, 413, 415]
"""Statuses of what breaks the document."""
CONFIG = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": REJECTED}}}
)
NOWHERE = ("http://nobody.example/", "http://new.example/a", "HTTP://A.example:80/every#x", "x")
BUDGETS = ("7/hour", "1/day/page", "9999/second", "0/hour", "much")


class FaultError(AssertionError):
    """What should not have been."""


def differing(before: Held, now: Held) -> set[str]:
    """The URLs of pages that are not as they were."""
    every = now.pages.keys() | before.pages.keys()
    return {url for url in every if now.pages.get(url) != before.pages.get(url)}


class Ledger:
    """What a database holds, and whether what was asked last may have changed it so."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written = store.written()
        self.held = Held.of(store)
        self.requests = 0

    def note(self, method: str, path: str, status: int, answer: object) -> None:
        """`FaultError` if more differs than an answer with this status says."""
        self.requests += 1
        written = self._store.written()
        if written == self._written:
            return
        before, self.held, self._written = self.held, Held.of(self._store), written
        is_granted = status < 400 and method != "GET"
        effect = answer if is_granted and isinstance(answer, dict) else {}
        named = {url for part in ("added", "changed", "removed") for url in effect.get(part, ())}
        others = differing(before, self.held) - named
        if others and not (is_granted and "/masks" in path and len(others) == 1):
            raise FaultError(f"pages are not as they were: {sorted(others)[:3]}")
        if self.held.settings != before.settings and not (is_granted and "/settings" in path):
            raise FaultError(f"settings are not as they were: {self.held.settings}")
        if self.held.unread != before.unread and not (is_granted and path.endswith("/read")):
            raise FaultError("marks of what was read are not as they were")


class Target:
    """A served database: its address, its document, and its ledger."""

    def __init__(self, address: str, ledger: Ledger) -> None:
        self.address = address
        self.ledger = ledger
        self.known = {url: record.page.id for url, record in ledger.held.pages.items()}
        self.document = requests.get(f"{address}/api/openapi.json", timeout=SECONDS).json()

    def knowing(self) -> dict[str, Any]:
        """The document, with what there is for what may be named."""
        told = copy.deepcopy(self.document)
        urls = [*self.known, *NOWHERE]
        for path in told["paths"].values():
            for operation in path.values():
                for one in operation["parameters"]:
                    if one["name"] == "url":
                        one["schema"] = {"type": "string", "enum": urls}
                    if one["name"] == "page":
                        one["schema"] = {"type": "integer", "enum": [*self.known.values(), 10**6]}
        for schema in told["components"]["schemas"].values():
            for name, one in schema.get("properties", {}).items():
                if name == "urls" and "items" in one:
                    one.update({"items": {"type": "string", "enum": urls}, "maxItems": 4})
                if name == "budget" and schema["additionalProperties"] is False:
                    one.update({"enum": list(BUDGETS)} if one.get("type") == "string" else {})
        return told

    def ask(self, case: Any) -> None:
        """Ask what was made up; `FaultError`, or a failure of schemathesis: how to ask it again."""
        answer = case.call_and_validate(excluded_checks=NOT_CHECKED, timeout=SECONDS)
        try:
            told = answer.json()
            self.ledger.note(case.method.upper(), case.path, answer.status_code, told)
        except FaultError as fault:
            raise FaultError(f"{fault}\n{case.as_curl_command()}") from None

    def operations(self) -> Iterator[tuple[str, str, bool]]:
        """Method, path with what is there, and whether there is a body, of each operation."""
        [url, *_] = self.known
        for path, methods in self.document["paths"].items():
            for method, one in methods.items():
                required = [p["name"] for p in one["parameters"] if p["required"]]
                filled = path.replace("{page}", "0").replace("{part}", "1")
                if "url" in required:
                    filled += f"?url={quote(url, safe='')}"
                if "budget" in required:
                    filled += "?budget=7/hour"
                yield method.upper(), filled, "requestBody" in one


def made_up(target: Target, document: Any, mode: GenerationMode, number: int) -> Iterator[str]:
    """Ask every operation of a document; a line for each fault."""
    described = schemathesis.openapi.from_dict(document, config=CONFIG)
    described.config.update(base_url=target.address)
    for found in described.get_all_operations():

        @given(case=found.ok().as_strategy(generation_mode=mode))
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # what was asked before is a part of it: nothing gets smaller
            suppress_health_check=list(HealthCheck),
        )
        @seed(number)
        def ask(case: Any) -> None:
            target.ask(case)

        try:
            ask()
        except Unsatisfiable:  # where nothing can be told, nothing can be told wrongly
            continue
        except (Exception, BaseExceptionGroup) as error:
            yield f"{found.ok().label}, {mode}: {told_of(error)}"


def told_of(error: BaseException) -> str:
    """A failure with all its parts, one below the other."""
    if isinstance(error, BaseExceptionGroup):
        return "\n".join([str(error), *map(told_of, error.exceptions)])
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


@dataclass(frozen=True)
class Hostile:
    """A request as it goes over the wire, and the statuses that answer it.

    `goes_on`: one byte more comes now and then; 0 among the statuses: the connection may just end.
    """

    name: str
    method: str
    path: str
    headers: tuple[str, ...] = ("Host: {host}",)
    body: bytes = b""
    statuses: tuple[int, ...] = (400,)
    goes_on: bool = False

    def sent(self, host: str) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", *self.headers]
        return "\r\n".join([*lines, "", ""]).replace("{host}", host).encode("latin-1") + self.body


OWN = "Host: {host}"
FOREIGN = (
    (OWN, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Content-Length: 0"),
    (OWN, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Content-Length: 0"),
)


def hostile(method: str, path: str, has_body: bool, draw: random.Random) -> Iterator[Hostile]:
    """What means ill, of one operation."""
    one = Hostile("", method, path)
    for host in ("evil.example", "127.0.0.1@evil.example", "", "127.0.0.1 evil", "[::1"):
        names = (f"Host: {host}", "Content-Length: 0")
        yield replace(one, name="wrong Host", headers=names, statuses=(421, 400))
    twice = ("Host: {host}", "Host: evil.example")
    yield replace(one, name="two Hosts", headers=twice, statuses=(421, 400))
    for headers in FOREIGN:
        yield replace(one, name="foreign page", headers=headers, statuses=(403,))
    if method != "GET":
        headers = (OWN, "Origin: http://evil.example", "Content-Length: 0")
        yield replace(one, name="foreign Origin", headers=headers, statuses=(403,))
    long = (OWN, f"X-Long: {'x' * draw.randrange(600_000, 2_000_000)}")
    yield replace(one, name="long header", headers=long, statuses=(400, 431, 0))
    many = (OWN, *(f"X-{number}: {'x' * 100}" for number in range(5_000)))
    yield replace(one, name="many headers", headers=many, statuses=(400, 431, 0))
    for length in (MOST_BYTES + 1, 10**30):
        headers = (OWN, "Content-Type: application/json", f"Content-Length: {length}")
        yield replace(one, name="long body", headers=headers, statuses=(413, 400))
    if not has_body:
        return
    chunked = (OWN, "Content-Type: application/json", "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 2**16 + b"\r\n"
    yield replace(*(one,), name="long body", headers=chunked, body=chunk * 17, statuses=(413, 0))
    yield replace(
        one,
        name="body without end",
        headers=chunked,
        body=b"1\r\n{\r\n",
        statuses=(0,),
        goes_on=True,
    )
    for name, body in {
        "half of UTF-8": b'{"urls": ["http://half.example/\xc3"]}',
        "half of a character": b'{"urls": ["http://half.example/\\ud83d"], "text": "\\udc00"}',
        "duplicated key": b'{"urls": ["http://one.example/"], "urls": ["http://two.example/"]}',
        "deep nesting": b'{"urls": ' + b"[" * draw.randrange(1_000, 300_000),
        "deep objects": b'{"a":' * draw.randrange(1_000, 100_000),
        "deep and closed": b'{"urls": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "no number": b'{"weight": NaN, "cost": Infinity, "up_to": 1e999, "urls": [NaN]}',
        "long number": b'{"up_to": ' + b"9" * 100_000 + b', "weight": 1}',
        "zero byte": b'{"urls": ["http://zero.example/\\u0000"], "text": "\\u0000"}',
        "no object": b"[1]",
        "nothing": b"",
        "garbage": draw.randbytes(draw.randrange(1, 3_000)),
    }.items():
        headers = (OWN, "Content-Type: application/json", f"Content-Length: {len(body)}")
        yield replace(one, name=name, headers=headers, body=body, statuses=(400,))
    headers = (OWN, "Content-Type: text/plain", "Content-Length: 2")
    yield replace(one, name="other type", headers=headers, body=b"{}", statuses=(415,))


def answer_to(one: Hostile, address: str) -> tuple[int, bytes]:
    """Status and body; 0: the connection ended without."""
    place = urlsplit(address)
    assert place.hostname
    with socket.create_connection((place.hostname, place.port), SECONDS) as client:
        with suppress(ConnectionError):
            client.sendall(one.sent(place.netloc))
        if one.goes_on:
            over = time.monotonic() + SECONDS
            with suppress(ConnectionError):
                while time.monotonic() < over:
                    client.sendall(b"1\r\n \r\n")
                    time.sleep(0.5)
                raise FaultError(f"a body may go on for {SECONDS:g} s")
            return 0, b""
        answer = http.client.HTTPResponse(client, method=one.method)
        try:
            answer.begin()
            return answer.status, answer.read()
        except (ConnectionError, http.client.HTTPException):
            return 0, b""


def json_of(body: bytes) -> Any:
    """What a body says; None: no JSON, as where what came was no HTTP."""
    return json.loads(body) if body.startswith(b"{") else None


def meant_ill(target: Target, draw: random.Random) -> Iterator[str]:
    """Send what means ill, to all operations; a line for each fault."""
    error = {"$ref": "#/components/schemas/Error", "components": target.document["components"]}
    as_told = jsonschema_rs.validator_for(error)
    unending: list[threading.Thread] = []
    faults: list[str] = []

    def send(one: Hostile, note: Callable[..., None]) -> None:
        try:
            status, body = answer_to(one, target.address)
            note(one.method, one.path, status or 400, json_of(body))
            if status not in one.statuses:
                raise FaultError(f"status {status}, not {one.statuses}: {body[:300]!r}")
            if (told := json_of(body)) is not None:
                as_told.validate(told)
        except Exception as error:
            shown = one.sent("HOST")[:400]
            faults.append(f"{one.name}: {error}\n{shown!r}")

    for method, path, has_body in target.operations():
        for one in hostile(method, path, has_body, draw):
            if one.goes_on:
                ending = threading.Thread(target=send, args=(one, lambda *_: None))
                ending.start()
                unending.append(ending)
                target.ledger.requests += 1
            else:
                send(one, target.ledger.note)
    for ending in unending:
        ending.join()
    with suppress(FaultError):
        target.ledger.note("GET", "/", 200, None)
        return iter(faults)
    return iter([*faults, "a body without end changed the database"])


def round_of(db: Path, number: int) -> tuple[int, list[str]]:
    """Ask all of that once of this database: the requests and the faults."""
    with answering_for(db) as address, Store.open_readonly(db) as store:
        target = Target(address, Ledger(store))
        faults = [
            *made_up(target, target.document, GenerationMode.POSITIVE, number),
            *made_up(target, target.document, GenerationMode.NEGATIVE, number),
            *made_up(target, target.knowing(), GenerationMode.POSITIVE, number),
            *meant_ill(target, random.Random(number)),
        ]
    return target.ledger.requests, faults


def databases(folder: Path, given_db: Path | None) -> list[Path]:
    """What a round is about, made anew."""
    if given_db is not None:
        copied = folder / "given.db"
        with Store.open_readonly(given_db) as store:
            store.backup(copied)
        return [copied]
    watch, collection = folder / "watch.db", folder / "collection.db"
    make_watch(watch, time.time())
    make_collection(collection)
    return [watch, collection]


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--db", type=Path)
    parser.add_argument("--round", type=int, default=1)
    asked = parser.parse_args()
    over, number, requests_made, found = time.monotonic() + 60 * asked.minutes, asked.round, 0, 0
    while time.monotonic() < over:
        with tempfile.TemporaryDirectory() as folder:
            for db in databases(Path(folder), asked.db):
                made, faults = round_of(db, number)
                requests_made += made
                found += len(faults)
                for fault in faults:
                    print(f"FAULT in round {number}, {db.stem}: {fault}\n")
                print(f"round {number}, {db.stem}: {made:,d} requests, {len(faults)} faults")
                sys.stdout.flush()
        number += 1
    print(f"{requests_made:,d} requests, {found} faults")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
