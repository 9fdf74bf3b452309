"""Learned state in the tables: a row for each page, and one for each array that all pages share."""

import json
import sqlite3

from pollwise.errors import StateError
from pollwise.store.sqlite.connection import Connection
from pollwise.store.sqlite.learned import pack_rows, pack_shared, unpack_rows, unpack_shared
from pollwise.store.sqlite.queries import SQL
from pollwise.types import StateDict

__all__ = ["read_learned", "save_learned"]


def save_learned(connection: sqlite3.Connection, state: StateDict) -> None:
    """Write down, within a transaction, what was learned of some pages and what all share."""
    layout, rows = pack_rows(state)
    connection.execute(SQL["insert_layout"], {"layout": layout})
    connection.executemany(
        SQL["save_learned_page"],
        [{"page_id": page_id, "layout": layout, "data": data} for page_id, data in rows],
    )
    connection.execute(SQL["clear_learned_shared"])
    connection.executemany(
        SQL["save_learned_shared"],
        [
            {"name": name, "dtype": dtype, "shape": shape, "data": data}
            for name, dtype, shape, data in pack_shared(state)
        ],
    )


def read_learned(connection: Connection) -> StateDict | None:
    """See `Store.load_learned`."""
    with connection.snapshot():
        layouts = dict(connection.rows("learned_layouts"))
        rows = connection.rows("learned_pages")
        shared = connection.rows("learned_shared")
    if not layouts:
        return None
    used = {layout_id for _, layout_id, _ in rows} or {max(layouts)}
    if len(used) > 1:
        names = "; ".join(
            ", ".join(column[0] for column in json.loads(layouts[layout_id]))
            for layout_id in sorted(used)
        )
        raise StateError(
            f"{connection.path} holds what {len(used)} different policies learned ({names}):"
            " forget it and learn anew, or go back to a copy of the file"
        )
    state = unpack_rows(layouts[used.pop()], [(page_id, data) for page_id, _, data in rows])
    return state | unpack_shared(shared)
