"""The contract between a policy and whoever asks it, in prose and as a protocol.

A policy decides *which* pages to poll. It reads no clock, opens no socket, and draws random
numbers only from the `numpy.random.Generator` that it was given, so the same calls always give
the same answers. `pollwise.testing.policy_contract.PolicyContract` holds an implementation to
these rules:

1.  Time never runs backwards for a policy: `now` of successive `select` calls never falls.
2.  `select(now, limit)` gives at most `limit` different pages (none if that is below 1), all of
    them added and not discarded, none of them leased. It leases the pages that it gives.
3.  A leased page is not given again until `observe` gets its poll, or `defer` gives it back.
4.  `observe` takes any number of observations, even late, out of order, repeated, or of pages
    that are not leased or no longer there. An observation that is not newer than what the policy
    knows of the page teaches nothing, but ends the lease. FAILED and GONE teach nothing about
    the change rate.
5.  `defer(page_ids, until)` says that the world could not poll leased pages (their host is busy):
    the leases end, and the pages are not given again before `until`.
6.  `state_dict(page_ids)` is what was learned, in arrays as `types.StateDict` describes them;
    unknown ids are ignored. `load_state_dict` puts it back into a policy of the same class and
    options whose pages were added before. Leases are not part of it, and loading leaves them as
    they are.
7.  The cost of one decision does not grow with the number of pages.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pollwise.types import Observation, Page, Selection, StateDict

__all__ = [
    "Chooser",
    "HostPriced",
    "LookingAhead",
    "Mixture",
    "Pausing",
    "Policy",
    "Priced",
    "Sharing",
    "Signalling",
    "StateDict",
    "Upgrading",
]


@runtime_checkable
class Policy(Protocol):
    """What a scheduler needs of a policy; the rules are in the module's docstring."""

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages (their ids new to the policy)."""

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""

    def select(self, now: float, limit: int) -> Selection:
        """At most `limit` pages to poll at `now`, best first; they are leased."""

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn from polls and end the leases of their pages."""

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was learned of these pages (None: of all) and what all pages share."""

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit."""


@runtime_checkable
class Chooser(Policy, Protocol):
    """A policy that can compare pages which wait for the same host."""

    def best(self, page_ids: Sequence[int], now: float) -> int:
        """Of these pages (at least one), leased or not, the one to poll at `now`."""


@runtime_checkable
class LookingAhead(Policy, Protocol):
    """A policy that can tell what it would select, without selecting it."""

    def likely_next(self, now: float) -> int | None:
        """The page that `select` would most likely give at `now`; None: there is none."""


@runtime_checkable
class Priced(Policy, Protocol):
    """A policy that polls pages as their worth reaches a price."""

    @property
    def price(self) -> float:
        """The price now, at once."""


@runtime_checkable
class HostPriced(Policy, Protocol):
    """A policy that raises the price for pages of a host that cannot keep up with them."""

    def host_prices(self) -> dict[str, float]:
        """The factors on the price that must survive a restart, by politeness scope."""

    def load_host_prices(self, prices: Mapping[str, float]) -> None:
        """Put the factors back, before the pages are added."""


@runtime_checkable
class Sharing(Policy, Protocol):
    """A policy that can give groups of pages shares of the budget."""

    def share_out(self, shares: Mapping[str, float], tags: Mapping[int, tuple[str, ...]]) -> None:
        """Give the pages with these tags these shares (0 to 1), and all others the rest.

        `tags` are those of the pages that have any, by page id; those of pages to come are their
        own. `InputError` for shares that cannot be.
        """

    def retag(self, tags: Mapping[int, tuple[str, ...]]) -> None:
        """Pages have other tags now, by page id; unknown ids are ignored."""

    def spend(self, page_id: int, cost: float) -> None:
        """A poll of a page took so much of the budget; unknown ids are ignored."""

    def group_prices(self) -> dict[str, float]:
        """What must survive a restart for shares to hold at once, by tag."""

    def load_group_prices(self, prices: Mapping[str, float]) -> None:
        """Put the prices back; those of tags without a share are ignored."""


@runtime_checkable
class Pausing(Policy, Protocol):
    """A policy that reckons with rounds: the time in which there is a poll for every page.

    Pages that are paused when they are added take no part in them either.
    """

    def pause(self, page_ids: Sequence[int]) -> None:
        """These pages are not polled for now, and take no part in rounds; unknown ids are ignored.

        The policy may still select them; what it learned of them stays.
        """

    def resume(self, page_ids: Sequence[int]) -> None:
        """These pages are polled again; unknown ids and pages that are not paused are ignored."""


@runtime_checkable
class Signalling(Policy, Protocol):
    """A policy that can learn what it is worth if somebody says that a page has changed."""

    def signal(self, page_ids: Sequence[int], at: float) -> None:
        """Somebody knew at a time that these pages had changed; unknown ids are ignored."""


@runtime_checkable
class Mixture(Policy, Protocol):
    """A policy that shares polls out by amounts, as one fills a knapsack."""

    def amounts(self) -> NDArray[np.float64]:
        """The amount of each page by its id; 0 for ids that no page has."""


@runtime_checkable
class Upgrading(Policy, Protocol):
    """A policy that can go on from what an earlier version of it has learned."""

    def upgraded(self, state: StateDict) -> StateDict:
        """Learned state of an earlier version as this one has it; any other state as it is."""
