"""How many instructions of the processor a decision of bayes-index takes, counted by valgrind.

    python benchmarks/instructions.py [--pages N]

Unlike a time it is the same on a slow or busy machine. Two programs are counted, of which one makes
more decisions. Their code is compiled for a processor that valgrind knows, which need not be the
one at hand, and is kept beside that for this one.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from engine import Decisions

from pollwise.policies.index.bayes_index import BayesianIndex

PAGES = 500
BEFORE = 1_000
"""Decisions that are made before any is counted."""
DECISIONS = 100_000
ENVIRONMENT = {
    **os.environ,
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2,+popcnt,+f16c",
    "PYTHONHASHSEED": "0",
    # Compiling what Python loads would take valgrind longer than all the rest.
    "PYTHONDONTWRITEBYTECODE": "",
}
COUNTING = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_TOLD = re.compile(r"^==\d+== I +refs: +([\d,]+)$", re.MULTILINE)


def can_count() -> bool:
    """Whether there is valgrind, and the processor is of the kind that the code is made for."""
    return platform.machine() in ("x86_64", "AMD64") and shutil.which(COUNTING[0]) is not None


def counted(valgrind: subprocess.Popen[str]) -> int:
    """The instructions that this process counts; ends the program if it, or what it runs, fails."""
    said, _ = valgrind.communicate()
    found = _TOLD.search(said)
    if found is None or valgrind.returncode != 0:
        sys.exit(f"valgrind has not counted; it said:\n{said}")
    return int(found[1].replace(",", ""))


def instructions_a_decision(pages: int = PAGES) -> float:
    """How many a decision takes, where `can_count`."""
    program = [sys.executable, str(Path(__file__)), "--pages", str(pages), "--make"]
    subprocess.run([*program, str(BEFORE)], env=ENVIRONMENT, check=True)  # compiles
    begun = [
        subprocess.Popen(
            [*COUNTING, *program, str(decisions)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for decisions in (BEFORE, BEFORE + DECISIONS)
    ]
    try:
        before, after = map(counted, begun)
    finally:
        for valgrind in begun:
            valgrind.kill()
    if after <= before:
        sys.exit("valgrind has counted no decisions")
    return (after - before) / DECISIONS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--make", type=int, metavar="N", help="only make so many decisions")
    asked = parser.parse_args()
    if asked.make is not None:
        Decisions(BayesianIndex, asked.pages).go_on(asked.make)
    elif can_count():
        print(f"{instructions_a_decision(asked.pages):,.0f} instructions a decision")
    else:
        sys.exit("install valgrind, on a processor of the kind x86-64, to count instructions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
