"""The protocol: its modules are made from its description, and its numbers are those of others."""

import importlib.util
from pathlib import Path

import pytest

from pollwise.frontier.protocol import urlfrontier_pb2 as protocol

ROOT = Path(__file__).parents[3]
MADE = ("urlfrontier_pb2.py", "urlfrontier_pb2.pyi")

FIELDS = {
    "Active": "state 1 local 2",
    "AckMessage": "ID 1 status 2",
    "BatchAck": "ID 1 statuses 2",
    "BlockQueueParams": "key 1 time 2 crawlID 3 local 4",
    "CountUrlParams": "key 1 crawlID 2 filter 3 ignoreCase 4 local 5",
    "CrawlLimitParams": "key 1 limit 2 crawlID 3 local 4",
    "DeleteCrawlMessage": "value 1 local 2",
    "DiscoveredBatch": "ID 1 items 2",
    "DiscoveredURLItem": "info 1",
    "GetParams": "max_urls_per_queue 1 max_queues 2 key 3 delay_requestable 4"
    " anyCrawlID 5 crawlID 6",
    "KnownURLItem": "info 1 refetchable_from_date 2",
    "ListUrlParams": "start 1 size 2 key 3 crawlID 4 local 5 filter 6 ignoreCase 7",
    "LogLevelParams": "package 1 level 2 local 3",
    "Pagination": "start 1 size 2 include_inactive 3 crawlID 4 local 5",
    "PurgeUrlParams": "key 1 crawlID 2 days 3",
    "QueueDelayParams": "key 1 delay_requestable 2 crawlID 3 local 4",
    "QueueList": "values 1 total 2 start 3 size 4 crawlID 5",
    "QueueWithinCrawlParams": "key 1 crawlID 2 local 3",
    "Stats": "size 1 inProcess 2 counts 3 numberOfQueues 4 crawlID 5",
    "StringList": "values 1",
    "URLInfo": "url 1 key 2 metadata 3 crawlID 4",
    "URLItem": "discovered 1 known 2 ID 3 creation_date 4",
    "URLStatusRequest": "url 1 key 2 crawlID 3",
}
"""The numbers of the fields in URLFrontier 2, message by message."""


def test_the_modules_are_made_of_the_description(tmp_path):
    pytest.importorskip("grpc_tools")
    place = ROOT / "tools" / "make_protocol.py"
    spec = importlib.util.spec_from_file_location("make_protocol", place)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.make(tmp_path) == 0
    folder = Path("pollwise/frontier/protocol")
    for name in MADE:
        made = (tmp_path / folder / name).read_text(encoding="utf-8")
        assert (ROOT / "src" / folder / name).read_text(encoding="utf-8") == made, name


@pytest.mark.parametrize("name", FIELDS)
def test_fields_have_the_numbers_of_the_protocol(name):
    described = protocol.DESCRIPTOR.message_types_by_name[name]
    told = " ".join(f"{field.name} {field.number}" for field in described.fields)
    assert told == FIELDS[name]


def test_a_message_on_the_wire():
    """As any other implementation writes it."""
    item = protocol.URLItem(ID="a")
    item.known.info.url = "u"
    item.known.refetchable_from_date = 5
    assert item.SerializeToString() == b"\x12\x07\x0a\x03\x0a\x01u\x10\x05\x1a\x01a"


def test_the_service_has_the_name_of_the_protocol():
    service = protocol.DESCRIPTOR.services_by_name["URLFrontier"]
    assert service.full_name == "urlfrontier.URLFrontier"
    assert len(service.methods) == 19
