"""What differs between two fetches of a page without being news: found, and left out.

`blocks` cuts a page into pieces, `masks` leaves out those that are noise, `search` finds out which
ones are.
"""
