"""What differs between two fetches of a page without being news: found, and left out.

`blocks` cuts a page into pieces, and `tokens` these into words; `masks` leaves out what is noise,
`search` finds out what is, and `looks` say when to search.
"""
