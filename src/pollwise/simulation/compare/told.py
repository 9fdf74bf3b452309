"""Request controllers beside themselves: told the topic, and not."""

from collections.abc import Iterator, Mapping, Sequence

from pollwise.policies.catalogue import ControllerChoice

__all__ = ["Terms", "told_and_not"]

Terms = Mapping[str, float]
"""The terms of a topic and their weights."""


def told_and_not(
    policies: Sequence[ControllerChoice], topic: Terms | None
) -> Iterator[tuple[str, ControllerChoice, Terms | None]]:
    """Each controller as it is called in results, and the topic that it is told.

    Where there is a topic, those that heed one come twice: first not told.
    """
    for policy in policies:
        yield policy.text, policy, None
        if topic is not None and policy.takes("topic"):
            yield f"{policy.text}, told", policy, topic
