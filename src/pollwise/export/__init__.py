"""The pages of a database as one file for other programs: JSON lines, OPML, Parquet or WARC."""

from pollwise.export.collection import (
    FORMATS,
    count_left_out,
    count_not_listed,
    export_collection,
    export_into,
)

__all__ = ["FORMATS", "count_left_out", "count_not_listed", "export_collection", "export_into"]
