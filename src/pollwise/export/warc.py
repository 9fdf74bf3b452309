"""A collection as a WARC file (ISO 28500:2017, WARC 1.1), each record in a gzip member of its own.

A stored version is a `response` record: the head of the answer and the body. Of the head those
headers are missing that `kept_head` leaves out. The store has the body without its content coding
and transfer coding, so the headers that tell of these begin with `X-Crawler-`, as in the files of
Common Crawl, and Content-Length is that of the body in the record. Bytes of a head that are not
ASCII are percent-encoded. A version without a head is a `resource` record: its body was made by a
browser, or an earlier pollwise kept none. The URL is that of the page, also if redirects led to the
answer.

A poll that found the same body again is a `revisit` record with the profile
identical-payload-digest (section 6.7.2) and no block, which refers to the version before. That is
known of the latest polls of each page only, and not of polls that found other bytes with the same
visible text.
"""

import re
import uuid
from bisect import bisect_right
from collections import defaultdict
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from pollwise.store import Store
from pollwise.store.records import Document, StoredVersion

if TYPE_CHECKING:
    from warcio.warcwriter import WARCWriter

__all__ = ["write_warc"]

_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_ENCODINGS = (b"content-encoding", b"transfer-encoding")
_CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


def write_warc(file: BinaryIO, store: Store, min_relevance: float | None, *, now: float) -> int:
    """Write versions and revisits, page by page; the number of pages.

    `now` (UTC seconds) is the time of the file itself. The same store gives the same records.
    """
    from warcio.warcwriter import WARCWriter

    writer = WARCWriter(file, gzip=True, warc_version="WARC/1.1")
    info = f"software: pollwise\r\nformat: WARC File Format 1.1\r\nconformsTo: {_CONFORMS_TO}\r\n"
    _write(writer, "warcinfo", "", now, info.encode(), "application/warc-fields", {})
    count = 0
    for document in store.documents(min_relevance):
        _write_page(writer, store, document)
        count += 1
    return count


def _write_page(writer: "WARCWriter", store: Store, document: Document) -> None:
    versions = store.versions(document.page_id)
    times = [version.seen_at for version in versions]
    revisits_of: dict[int, list[float]] = defaultdict(list)
    for time in store.revisits(document.page_id):
        revisits_of[bisect_right(times, time) - 1].append(time)
    url = document.url
    for number, version in enumerate(versions):
        kind, content_type = "resource", _content_type(version)
        block = store.body(version.body_hash)
        if head := store.head(document.page_id, version.seen_at):
            kind, content_type = "response", "application/http; msgtype=response"
            block = _head_of_decoded(head, len(block)) + block
        digest = _write(writer, kind, url, version.seen_at, block, content_type, {})
        headers = {
            "WARC-Profile": _PROFILE,
            "WARC-Payload-Digest": digest,
            "WARC-Refers-To": _record_id(kind, url, version.seen_at),
            "WARC-Refers-To-Target-URI": url,
            "WARC-Refers-To-Date": _date(version.seen_at),
        }
        for time in revisits_of[number]:
            _write(writer, "revisit", url, time, b"", None, headers)


def _head_of_decoded(head: bytes, size: int) -> bytes:
    r"""A head, with its end, for a body of `size` bytes without its codings.

    >>> _head_of_decoded(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip", 5)
    b'HTTP/1.1 200 OK\r\nX-Crawler-Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n'
    """
    # warcio does so with most headers, and fails of others and of the status line.
    head = _NOT_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), head)
    length = b"%d" % size
    status_line, *headers = head.split(b"\r\n")
    lines = [status_line]
    for header in headers:
        name, _, value = header.partition(b":")
        is_length = name.lower() == b"content-length"
        if is_length and value.strip() == length:
            continue
        is_untrue = is_length or name.lower() in _ENCODINGS
        lines.append(b"X-Crawler-" + header if is_untrue else header)
    return b"\r\n".join([*lines, b"Content-Length: " + length, b"", b""])


def _write(
    writer: "WARCWriter",
    kind: str,
    url: str,
    time: float,
    block: bytes,
    content_type: str | None,
    headers: dict[str, str],
) -> str:
    """Write a record; the digest of its payload (empty for a warcinfo record)."""
    record: Any = writer.create_warc_record(
        url,
        kind,
        payload=BytesIO(block),
        length=len(block),
        warc_content_type=content_type,
        warc_headers_dict={
            "WARC-Record-ID": _record_id(kind, url, time),
            "WARC-Date": _date(time),
            **headers,
        },
    )
    record.content_type = content_type  # warcio would set its own for a record without a block
    writer.write_record(record)
    digest: str = record.rec_headers.get_header("WARC-Payload-Digest", "")
    return digest


def _record_id(kind: str, url: str, time: float) -> str:
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{kind} {_date(time)} {url}')}>"


def _date(time: float) -> str:
    """With microseconds, as WARC 1.1 allows (section 5.4)."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _content_type(version: StoredVersion) -> str:
    """The one that the server told, if it can stand in a header."""
    told = version.content_type
    return told if told and told.isascii() and told.isprintable() else "application/octet-stream"
