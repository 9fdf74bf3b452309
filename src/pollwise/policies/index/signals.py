"""Signals: somebody says that a page has changed, such as a sitemap, a webhook, or the user.

How much a signal is worth is learned from the polls that follow: its *reliability* r is the
probability that the page has changed because of what the signal tells. It is learned for each page,
beginning with that of its site, and this with that of all (Beta distributions). Where a page may
have changed anyhow, by the belief with probability c, a change that a poll finds is put down to the
signal for a share r / (1 - (1 - r)(1 - c)) only (the EM algorithm for a noisy-or).

A pending signal multiplies the chance that the copy is still good by 1 - r, as a surge of its site
does (`worth`): so its index is raised by what signals of the page have been worth. Polls after a
signal teach the rate by the same noisy-or: what remains are the changes that no signal tells, so
that a page whose signals are reliable and complete is hardly polled without one. The functions are
compiled.
"""

import math

from pollwise.kernel_cache import kernel
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.fields import site_of
from pollwise.policies.index.learning import operational_time
from pollwise.policies.index.page_index import chance_after
from pollwise.policies.index.state import IndexState

__all__ = ["is_signalled_later", "note_signal", "note_signalled_poll"]

_OWN = 2.0
"""Signals of a page, or of a site, that count as much as the reliability it begins with."""


@kernel(allocates=False)
def _reliability(state: IndexState, page: int) -> float:
    """The probability that a page has changed because of what its signal tells."""
    own, common = state.apart[page], state.shared[0]
    reliability = (common.true_signals + 1.0) / (common.signals + 2.0)
    number = site_of(state.kinds, state.pages[page])
    if number >= 0:
        site = state.sites[number]
        reliability = (site.true_signals + _OWN * reliability) / (site.signals + _OWN)
    return (own.true_signals + _OWN * reliability) / (own.signals + _OWN)


@kernel(allocates=False)
def note_signal(state: IndexState, page: int, time: float) -> bool:
    """Take in a signal that came at a time; whether it tells of anything after the copy."""
    own = state.pages[page]
    if math.isnan(own.seen_at) or time <= own.seen_at:
        return False
    told = state.apart[page]
    told.signal, told.signalled_at = _reliability(state, page), time
    own.signalled = 1
    return True


@kernel(allocates=False)
def is_signalled_later(state: IndexState, page: int, polled_at: float) -> bool:
    """Whether the pending signal of a page came after a poll."""
    return bool(state.pages[page].signalled and polled_at < state.apart[page].signalled_at)


@kernel(allocates=False)
def note_signalled_poll(state: IndexState, page: int, polled_at: float, changed: bool) -> None:
    """Learn from a poll what the signal before it was worth."""
    own, common = state.pages[page], state.shared[0]
    if not own.signalled:
        return
    true = 0.0
    if changed:
        refresh_belief(state, page)
        anyhow = chance_after(state.shared, operational_time(state, page, polled_at))
        true = common.signal / (1.0 - (1.0 - common.signal) * (1.0 - anyhow))
    told = state.apart[page]
    told.signals += 1.0
    told.true_signals += true
    common.signals += 1.0
    common.true_signals += true
    number = site_of(state.kinds, own)
    if number >= 0:
        site = state.sites[number]
        site.signals += 1.0
        site.true_signals += true
