"""The figures of a run, for the tests of what shows them."""

from pollwise.live.run_figures import RunFigures

FIGURES = RunFigures(
    started_at=1_000.0,
    at=2_000.0,
    uptime=500.0,
    polls={"changed": 3, "unchanged": 5, "gone": 0, "failed": 2, "postponed": 1},
    changes=2,
    spent=11.5,
    allowed=2.0 * 11.5,
    requests=17,
    answers={"2xx": 11, "3xx": 0, "4xx": 3, "5xx": 1, "none": 2},
    bytes_received=12_345,
    wait_seconds=4.5,
    longest_wait=2.5,
    under_way=2,
    pages=5,
    first_copies=1,
    hosts=2,
    hosts_in_line=1,
    rate=0.25,
    price=None,
    next_poll_at=None,
    loop_lag=0.01,
    commit_seconds=0.02,
    compiling=False,
    quiet=False,
)
