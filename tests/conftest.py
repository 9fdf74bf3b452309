"""Hypothesis draws the same examples at every run, however long they take on a busy machine."""

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
