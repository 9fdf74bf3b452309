"""The page about JSON documents names every field of the answers, and none that does not exist."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from pollwise.collecting.response_processor import ProcessorLoad
from pollwise.dashboard.api.change_operations import Signalled
from pollwise.experiments.demonstration import Demonstration
from pollwise.export.backup import Backup
from pollwise.insight.changes import Changes, History, VersionDiff
from pollwise.insight.collection import CollectedExplanation
from pollwise.insight.documents import ONLY_IF_ASKED
from pollwise.insight.explanation import Explanation
from pollwise.insight.hosts import HostList
from pollwise.insight.measured import Measured
from pollwise.insight.page_list import PageList
from pollwise.insight.page_table import PageRows
from pollwise.insight.plan import Plan
from pollwise.insight.polled import PolledPage
from pollwise.insight.present_settings import PresentSettings
from pollwise.insight.shards import Shards
from pollwise.insight.status import Status
from pollwise.insight.timeline import TimeLine
from pollwise.live.checking import PageCheck
from pollwise.live.collection_standing import CollectionTotals
from pollwise.live.importing import ImportReport
from pollwise.live.requests import Effect
from pollwise.notify.notice import Notice
from pollwise.store.records import Hit

PAGE = Path(__file__).parents[2] / "docs" / "answers.md"
ANSWERS = (
    *(Changes, History, VersionDiff, Notice),
    *(Status, Shards, Explanation, CollectedExplanation, PageList, PageCheck, Plan, PolledPage),
    *(PageRows, HostList, TimeLine, Measured),
    *(PresentSettings, Signalled),
    *(Effect, ImportReport, Backup, Hit, CollectionTotals, ProcessorLoad, Demonstration),
)

SECTION = re.compile(r"^### (?P<name>\w+)$(?P<text>.*?)(?=^#|\Z)", re.M | re.S)
ROW = re.compile(r"^\| `(?P<field>\w+)` \| (?P<unit>[^|]+) \| (?P<meaning>[^|]*)\|$", re.M)


def dataclasses_in(annotation: Any, within: tuple[type, ...] = ()) -> Iterator[type]:
    """The dataclasses that values with this annotation are made of; one may have itself in it."""
    if is_dataclass(annotation) and isinstance(annotation, type):
        yield annotation
        if annotation not in within:
            for inner in get_type_hints(annotation).values():
                yield from dataclasses_in(inner, (*within, annotation))
    for argument in get_args(annotation):
        yield from dataclasses_in(argument, within)


def sections() -> dict[str, list[re.Match[str]]]:
    """The rows of the table below each heading that is named after a dataclass."""
    found = SECTION.finditer(PAGE.read_text(encoding="utf-8"))
    return {section["name"]: list(ROW.finditer(section["text"])) for section in found}


CLASSES = {found.__name__: found for answer in ANSWERS for found in dataclasses_in(answer)}


def test_every_dataclass_of_an_answer_has_a_table():
    assert sections().keys() == CLASSES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_the_tables_have_the_fields(name):
    rows = {row["field"]: row for row in sections()[name]}
    assert list(rows) == [field.name for field in fields(CLASSES[name])]
    for field in fields(CLASSES[name]):
        absent = "if asked for" in rows[field.name]["meaning"]
        assert absent == (field.metadata == ONLY_IF_ASKED), field.name


@pytest.mark.parametrize("name", CLASSES)
def test_the_units_name_the_dataclasses(name):
    hints = get_type_hints(CLASSES[name])
    for row in sections()[name]:
        inner = next(dataclasses_in(hints[row["field"]]), None)
        named = set(re.findall(r"\w+", row["unit"])) & CLASSES.keys()
        assert named == (set() if inner is None else {inner.__name__}), row["field"]
