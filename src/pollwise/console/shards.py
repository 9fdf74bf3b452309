"""What people see of `pollwise shards`."""

from rich.table import Table

from pollwise.console.quantities import count
from pollwise.console.streams import stdout
from pollwise.console.tables import folded
from pollwise.insight.shards import Shards
from pollwise.insight.words import number
from pollwise.store.place import db_option
from pollwise.units import DAY

__all__ = ["print_shards"]


def print_shards(answer: Shards) -> None:
    """The answer of `pollwise shards`."""
    total = sum(shard.pages for shard in answer.shards)
    table = Table(
        "shard",
        folded("polled by"),
        "pages",
        "polls",
        "changes",
        "failing",
        "polls a day",
        title=f"{answer.database}: {count(total, 'page')}, budget {answer.budget}",
    )
    for shard in answer.shards:
        table.add_row(
            str(shard.number),
            shard.process or "nobody",
            f"{shard.pages:,d}",
            f"{shard.polls:,d}",
            f"{shard.changes:,d}",
            f"{shard.failing:,d}",
            number(shard.rate * DAY) if shard.process else "-",
        )
    stdout().print(table)
    one = db_option(answer.shards[0].database)
    stdout().print(f"shard 0: {one}, the others by their numbers", soft_wrap=True)
