"""What metadata tell of a fetch."""

import pytest

from pollwise.frontier.protocol.urlfrontier_pb2 import StringList
from pollwise.frontier.reports import NOTHING, Fingerprint, report_of
from pollwise.types import Outcome

NOW = 1_700_000_000.0
BEFORE = Fingerprint("abc", '"tag"', "Tue, 14 Nov 2023 00:00:00 GMT")


def report(before=NOTHING, **metadata):
    values = {name: StringList(values=[value]) for name, value in metadata.items()}
    return report_of(values, before, NOW)


@pytest.mark.parametrize(
    ("metadata", "outcome"),
    [
        ({"signature": "abc"}, Outcome.UNCHANGED),
        ({"signature": "xyz"}, Outcome.CHANGED),
        ({"digest": "xyz", "etag": '"tag"'}, Outcome.CHANGED),
        ({"parse.Content-Digest": "abc"}, Outcome.UNCHANGED),
        ({"protocol.etag": '"tag"'}, Outcome.UNCHANGED),
        ({"ETag": '"other"'}, Outcome.CHANGED),
        ({"last-modified": "Tue, 14 Nov 2023 00:00:00 GMT"}, Outcome.UNCHANGED),
        ({"last_modified": "Tue, 14 Nov 2023 01:00:00 GMT"}, Outcome.CHANGED),
        ({"fetch.statusCode": "304"}, Outcome.UNCHANGED),
        ({"fetch.statusCode": "404", "signature": "xyz"}, Outcome.GONE),
        ({"http_status": "410"}, Outcome.GONE),
        ({"status_code": "500"}, Outcome.FAILED),
        ({"status": "200", "signature": "abc"}, Outcome.UNCHANGED),
        ({"status": "FETCHED"}, None),
        ({"status": "²⁰⁰"}, None),
        ({"title": "abc"}, None),
        ({}, None),
    ],
)
def test_whether_it_has_changed(metadata, outcome):
    assert report(BEFORE, **metadata).outcome is outcome


def test_what_failed_does_not_replace_the_fingerprint():
    assert report(BEFORE, status="500").fingerprint == BEFORE
    assert report(BEFORE, status="304", etag='"new"').fingerprint == BEFORE._replace(etag='"new"')


def test_the_first_copy_tells_of_no_change():
    told = report(signature="abc")
    assert told.outcome is None
    assert told.fingerprint == Fingerprint("abc")


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Tue, 14 Nov 2023 00:00:00 GMT", 1_699_920_000.0),
        ("Tue, 14 Nov 2033 00:00:00 GMT", None),  # the future
        ("Tue, 14 Nov 1033 00:00:00 GMT", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_when_it_changed_last(text, date):
    assert report(**{"last-modified": text}).last_changed_at == date


def test_nonsense_is_cut_and_empty_values_are_none():
    long = "x" * 100_000
    assert len(report(signature=long).fingerprint.signature) == 256
    assert report_of({"signature": StringList()}, BEFORE, NOW).outcome is None
