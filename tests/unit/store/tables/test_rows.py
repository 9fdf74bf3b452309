"""Text from the web, whatever it holds, survives the database."""

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from pollwise.store.sqlite.connection import SqliteWriter
from pollwise.store.tables.rows import stored_version

storable = SqliteWriter(sqlite3.connect(":memory:")).storable
any_text = st.text(st.characters(exclude_categories=()))


@given(any_text)
def test_text_comes_back_from_the_database_as_it_was(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    row = connection.execute("SELECT 1.0, CAST(? AS BLOB), 'hash', 0", [storable(text)]).fetchone()
    plain = connection.execute("SELECT 1.0, ?, 'hash', 0", [storable(text)]).fetchone()
    assert stored_version(row).content_type == stored_version(plain).content_type == text


def test_only_text_that_is_no_utf8_is_stored_as_bytes() -> None:
    assert storable('"étag"') == '"étag"'
    assert storable('"\udcff"') == b'"\xed\xb3\xbf"'
    assert storable(None) is None
