"""The URLs that programs tell in a list."""

from collections.abc import Sequence

from pollwise.dashboard.api.refusals import About
from pollwise.dashboard.each import read_each
from pollwise.web.urls import canonical

__all__ = ["addresses_told"]


def addresses_told(urls: Sequence[str]) -> list[str]:
    """The canonical URLs of the field `urls`, each once; `RefusedError` tells the bad ones."""
    named = ((f"urls[{place}]", url) for place, url in enumerate(urls))
    with About("urls"):
        return list(dict.fromkeys(read_each(named, canonical, between="; ")))
