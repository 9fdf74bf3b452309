"""A URLFrontier service, and a client of such services (extra `frontier`)."""

from pollwise.frontier.client import Client, discovered, known

__all__ = ["Client", "discovered", "known"]
