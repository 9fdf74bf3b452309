"""A URLFrontier service, and a client of such services (extra `frontier`)."""

from pollwise.frontier.client import Client, discovered, known
from pollwise.frontier.learned import estimates

__all__ = ["Client", "discovered", "estimates", "known"]
