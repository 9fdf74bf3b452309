"""Seconds in the units of time that people use."""

__all__ = ["DAY", "HOUR", "MINUTE", "WEEK"]

MINUTE, HOUR = 60.0, 3600.0
DAY = 24 * HOUR
WEEK = 7 * DAY
