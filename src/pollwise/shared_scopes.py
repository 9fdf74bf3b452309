"""Politeness scopes that hosts share: those of a group, or of one registrable domain."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

__all__ = ["DomainScopes", "domain_scope"]

_MANY_HOSTS = 100_000


@lru_cache(maxsize=_MANY_HOSTS)
def domain_scope(host: str) -> str | None:
    """The scope of the registrable domain of a host, whatever its port.

    None: it has no such domain, as an address or `localhost`. By the list of public suffixes
    (https://publicsuffix.org), with those of companies: two blogs of one provider are apart.

    >>> domain_scope("www.news.example.co.uk:8443"), domain_scope("me.github.io")
    ('*.example.co.uk', '*.me.github.io')
    >>> domain_scope("127.0.0.1:80"), domain_scope("localhost")
    (None, None)
    """
    name, _, port = host.rpartition(":")
    name = name if port.isdecimal() else host
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        domain = _suffixes().privatesuffix(name)
        return None if domain is None else f"*.{domain}"
    return None


@lru_cache(maxsize=1)
def _suffixes() -> Any:
    # Here, as it takes a while to load and few need it.
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


class DomainScopes(Mapping[str, str]):
    """The scopes that hosts share, when all hosts of a domain share one, by the host.

    `groups` are the scopes of those that are in a group instead. Only these are counted: any host
    of a domain is in here.
    """

    def __init__(self, groups: Mapping[str, str]) -> None:
        self._groups = groups

    def __getitem__(self, host: str) -> str:
        scope = self._groups.get(host) or domain_scope(host)
        if scope is None:
            raise KeyError(host)
        return scope

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)
