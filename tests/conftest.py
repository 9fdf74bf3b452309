"""The suite runs alike everywhere: the same examples of Hypothesis, and Ctrl-C that interrupts.

And it wastes no time: modules are compiled once, and long files do not begin last.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

HERE = Path(__file__).parent
BENCHMARKS = HERE.parent / "benchmarks"
COMPILE_ALL_POLICIES = (
    "equivalence/test_compiled_loop.py",
    "unit/policies/collecting/test_robot.py",
    "unit/policies/index/test_queue.py",
    "unit/policies/index/test_bayes_index.py",
    "unit/policies/index/test_pool.py",
    "unit/experiments/test_reproduction.py",
    "unit/simulation/scores/test_calibration.py",
    "unit/simulation/worlds/test_stochastic_knapsack.py",
    "unit/policies/gpoks/test_gpoks.py",
)
"""What a process has compiled it need not compile again as a part of other kernels."""
LONG = (
    *COMPILE_ALL_POLICIES,
    # The next ones need no kernel of those policies: they are not there yet.
    "live/test_rendering.py",
    "live/test_store_postgres.py",
    "docs/test_site.py",
    "unit/test_kernel_cache.py",
    "live/test_sources.py",
    "equivalence/test_full_scan.py",
    "live/test_demo.py",
    "live/test_scrapy.py",
    "acceptance/test_replay.py",
    "live/test_watch.py",
    "live/test_frontier.py",
    "acceptance/test_floors.py",
    "live/test_shards.py",
    "acceptance/test_ephemeral.py",
    "live/test_control.py",
    "live/test_collect.py",
    "acceptance/test_recorded_pages.py",
    "live/test_daemon.py",
    "unit/policies/index/test_groups.py",
    "live/test_dashboard.py",
    "unit/live/test_control.py",
    "live/test_watch_fetching.py",
    "live/test_service_manager.py",
    "live/test_dashboard_pages.py",
    "live/test_commands.py",
    "live/test_cold_start.py",
    "live/test_serve.py",
    "live/test_checking.py",
    # Late: they find compiled what they would compile beside the first worker.
    "unit/cli/test_replay.py",
    "unit/cli/test_program.py",
    "equivalence/test_live_loop.py",
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

# OpenBLAS would have all processors wait, busily, for one another at the smallest of matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Tests start some hundreds of processes, each of which would compile what it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture
def import_benchmark(
    monkeypatch: pytest.MonkeyPatch,
) -> Generator[Callable[[str], ModuleType], None, None]:
    """Imports a script of the benchmarks, which is gone after the test with all that it imported
    from there."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHMARKS)):
            del sys.modules[name]


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
    """Long files first: one that began last would keep a single worker busy at the end.

    The others alternate between those that compute and those that wait for sockets and processes,
    so that there is something to compute at any time.
    """
    place = {HERE / name: number for number, name in enumerate(LONG)}
    others = dict.fromkeys(item.path for item in items if item.path not in place)
    for waits in (False, True):
        kind = [path for path in others if path.is_relative_to(HERE / "live") is waits]
        place |= {path: len(LONG) + number / len(kind) for number, path in enumerate(kind)}
    items.sort(key=lambda item: place[item.path])


class ByFile(LoadFileScheduling):
    """Gives the tests of a file to one worker, so that what they need is compiled once.

    So it does those of all files that compile parts of the same kernels.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return COMPILE_ALL_POLICIES[0] if file.endswith(COMPILE_ALL_POLICIES) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    """Make it for `--dist loadfile`."""
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None
