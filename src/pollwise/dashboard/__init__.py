"""`pollwise serve`: a process beside the one that polls, which answers people and programs.

It reads the database, and puts requests into it, as the commands do; see docs/structure.md.
"""
