"""The version, in one place: packaging, `pollwise --version` and the User-Agent read it."""

__all__ = ["__version__"]

__version__ = "0.23.0"
