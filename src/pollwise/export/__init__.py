"""The pages of a database as one file for other programs: JSON lines, OPML, Parquet or WARC."""

from pollwise.export.collection import FORMATS, export_collection

__all__ = ["FORMATS", "export_collection"]
