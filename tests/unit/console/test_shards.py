"""What people see of `pollwise shards`."""

from pollwise.console.shards import print_shards
from pollwise.insight.shards import Shard, Shards

DATABASE = "postgresql://me@db.example/pages"
SHARDS = Shards(
    DATABASE,
    "5000/hour",
    tuple(
        Shard(
            number=number,
            database=f"{DATABASE}?options=-csearch_path%3Dpublic_shard_{number}",
            process=process,
            pages=1_250_000,
            polls=98_765_432,
            changes=1_234_567,
            failing=1_000,
            rate=0.7,
            price=0.01,
        )
        for number, process in enumerate(["process 3412345 on watcher-1.pages.example", None])
    ),
)


def test_it_fits_a_terminal_and_says_who_polls_what(terminal) -> None:
    with terminal.in_use():
        print_shards(SHARDS)
    *table, last = terminal.plain.rstrip().splitlines()
    assert max(map(len, table)) <= 80
    text = "\n".join(table)
    assert "2,500,000 pages, budget 5000/hour" in text
    assert "nobody" in text
    assert "98,765,432" in text
    assert "60,480" in text
    assert last == f"shard 0: --db '{SHARDS.shards[0].database}', the others by their numbers"
