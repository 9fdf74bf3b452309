"""What people can do about what they are told, in words."""

__all__ = ["ALWAYS_REMEDY"]

ALWAYS_REMEDY = "`pollwise check URL` shows what; watch its feed instead, or give it less weight"
"""For a page that differs at every poll."""
