"""What compiles beside a run ends before the interpreter does."""

import subprocess
import sys

ENDS_IN_A_LONG_STEP = """
import asyncio, atexit, threading, time
from pollwise.live import compiling
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.settings import WatchSettings

in_a_step = threading.Event()

def rehearsal(policy):
    in_a_step.set()
    time.sleep(1.0)
    yield

compiling.kernel_folder = lambda: ""  # nothing can be kept
compiling.rehearsal = rehearsal
compiling._LONGEST_JOIN = 0.01

async def run():
    async with compiling.preparing(AwaitedPolicy(), WatchSettings(), 1, print):
        await asyncio.to_thread(in_a_step.wait)

atexit.register(lambda: print([thread.name for thread in threading.enumerate()]))
asyncio.run(run())
"""


def test_a_step_of_the_compiler_is_over_before_the_interpreter_takes_it_down() -> None:
    """Else it crashes now and then, though all is written by then."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_IN_A_LONG_STEP], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (0, "['MainThread']\n"), ended.stderr
