"""What a poll reads: a page, a part of one, a feed, a sitemap, a JSON document, a PDF.

`reading` makes a `View` (`view`) of a body; `selectors` name the parts that count and those that do
not, which `markup`, `json_documents` and `patterns` find; `feeds` and `pdf` read what else there
is.
"""
