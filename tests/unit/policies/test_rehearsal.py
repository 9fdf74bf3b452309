"""After a rehearsal nothing is left to compile."""

import subprocess
import sys

import pytest

_PROGRAM = """
import gc, random
import numpy as np
from numba.core.dispatcher import Dispatcher
from pollwise.policies.rehearsal import rehearsal
from pollwise.settings import CollectSettings, WatchSettings
from pollwise.events import *
from pollwise.types import Links, Observation, Outcome, Page

settings = {settings}
for _ in rehearsal(settings.scheduler(100).policy):
    pass

def compiled():
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {{str(each.py_func): len(each.signatures) for each in kernels}}

before = compiled()
rng = random.Random(1)
scheduler = settings.scheduler(100)
collects = hasattr(scheduler.policy, "link")
known = 30
def page(i):
    host = f"{{i % 7}}.example"
    return Page(i, f"http://{{host}}/{{i}}", host, site=host, kind="#")
commands = scheduler.handle(Added(0.0, tuple(map(page, range(known)))))
now = 0.0
state = None
for turn in range(400):
    now += rng.expovariate(1 / 50.0)
    for command in commands:
        if type(command).__name__ == "Poll":
            outcome = rng.choice(list(Outcome))
            seen = Observation(command.page_id, now, outcome, relevance=rng.random())
            scheduler.handle(Polled(now, (seen,)))
            if collects:
                scheduler.handle(Added(now, (page(known),)))
                links = Links(np.array([known, 0]), ["a", "b"], ["body/a", "body/a"])
                scheduler.handle(Linked(now, command.page_id, links))
                known += 1
    if turn == 200:
        scheduler.policy.load_state_dict(scheduler.policy.state_dict())
        scheduler.handle(Removed(now, (3,)))
    commands = scheduler.handle(Tick(now))
grown = {{name for name, count in compiled().items() if count > before.get(name, 0)}}
print(sorted(grown))
"""


@pytest.mark.parametrize(
    "settings",
    [
        'WatchSettings(budget="3/minute")',
        'WatchSettings(budget="3/minute", objective="ephemeral", parameters={"decay": 1e-4})',
        'CollectSettings(budget="1/second")',
    ],
)
def test_nothing_is_left_to_compile(settings: str):
    program = _PROGRAM.format(settings=settings)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=280
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"
