"""The suite runs alike everywhere: the same examples of Hypothesis, and Ctrl-C that interrupts.

And it wastes no time: modules are compiled once, and long files do not begin last.
"""

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
LONG = (
    # The first two: all policies are compiled by one worker, while the other one needs none.
    "equivalence/test_compiled_loop.py",
    "unit/scheduler/test_prices.py",
    "equivalence/test_full_scan.py",
    "unit/experiments/test_reproduction.py",
    "acceptance/test_replay.py",
    "unit/test_kernel_cache.py",
    "unit/simulation/scores/test_calibration.py",
    "docs/test_site.py",
    "unit/policies/gpoks/test_gpoks.py",
    # Its processes find compiled what those of `test_reproduction` would compile at the same time.
    "unit/cli/test_program.py",
    "acceptance/test_floors.py",
    "acceptance/test_ephemeral.py",
    "acceptance/test_recorded_pages.py",
    "equivalence/test_live_loop.py",
    "unit/policies/index/test_groups.py",
    "unit/policies/collecting/test_robot.py",
    "unit/live/test_control.py",
    "unit/simulation/worlds/test_stochastic_knapsack.py",
    "live/test_scrapy.py",
    "live/test_demo.py",
    "live/test_watch.py",
    "live/test_collect.py",
    "live/test_shards.py",
    "live/test_frontier.py",
    "live/test_control.py",
    "live/test_daemon.py",
    "live/test_dashboard.py",
    "live/test_rendering.py",
    "live/test_watch_fetching.py",
    "live/test_service_manager.py",
    "live/test_dashboard_pages.py",
    "live/test_commands.py",
    "live/test_cold_start.py",
    "live/test_serve.py",
    "live/test_store_postgres.py",
    "live/test_checking.py",
    "live/test_sources.py",
)
"""The files that take longest, in the order in which they are begun; before all others."""

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

# A shell that starts the suite in the background has it ignore SIGINT, and so would all processes
# that tests start: those that are to be interrupted would go on for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the program has it: looks for garbage took a twentieth of the time of compiling.
gc.set_threshold(100_000)

# Tests start some hundreds of processes, each of which would compile what it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure(config: pytest.Config) -> None:
    """Let workers take files in the order of the tests, not those of most tests first."""
    config.option.loadscopereorder = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave all tests and modules out where garbage is looked for: they stay to the end.

    Looking took a sixth of the time in which they are found. What tests make is looked at as ever.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: one that began last would keep a single worker busy at the end."""
    place = {HERE / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path, len(LONG)))
