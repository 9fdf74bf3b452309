"""How many instructions of the processor a decision of bayes-index takes, counted by valgrind.

    python benchmarks/instructions.py [--pages N]

Unlike a time it is the same on a slow or busy machine. The code is compiled for a processor that
valgrind knows, which need not be the one at hand, and is kept beside that for this one.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
from engine import Decisions
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from pollwise.policies.index.bayes_index import BayesianIndex

PAGES = 500
BEFORE = 1_000
"""Decisions that are made before any is counted."""
DECISIONS = 10_000
PROCESSOR = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2,+popcnt,+f16c",
}
ENVIRONMENT = {
    **os.environ,
    **PROCESSOR,
    "PYTHONHASHSEED": "0",
    # Compiling what Python loads would take valgrind longer than all the rest.
    "PYTHONDONTWRITEBYTECODE": "",
}
COUNTING = (
    "valgrind",
    "--tool=callgrind",
    "--instr-atstart=no",
    "--callgrind-out-file=/dev/null",
)
BEGIN, END = 0x43540004, 0x43540005
"""The requests to callgrind to begin and to end counting (CALLGRIND_START_INSTRUMENTATION)."""
_REQUEST = "rolq $$3, %rdi; rolq $$13, %rdi; rolq $$61, %rdi; rolq $$51, %rdi; xchgq %rbx, %rbx"
"""By these instructions valgrind is asked for something ("The Client Request mechanism")."""
_TOLD = re.compile(r"^==\d+== Collected : ([1-9]\d*)$", re.MULTILINE)


def can_count() -> bool:
    """Whether there is valgrind, and the processor is of the kind that the code is made for."""
    return platform.machine() in ("x86_64", "AMD64") and shutil.which(COUNTING[0]) is not None


def told(output: str) -> int:
    """The number of instructions in the output of valgrind; ends the program if there is none."""
    found = _TOLD.search(output)
    if found is None:
        sys.exit(f"valgrind has not counted; it said:\n{output}")
    return int(found[1])


def instructions_a_decision(pages: int = PAGES) -> float:
    """How many a decision takes, where `can_count`."""
    program = [sys.executable, str(Path(__file__)), "--pages", str(pages), "--make"]
    subprocess.run(program, env=ENVIRONMENT, check=True)  # compiles
    counting = subprocess.run(
        [*COUNTING, *program],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return told(counting.stdout) / DECISIONS


def _request(context: Any, number: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, kind = ir.IntType(64), ir.ArrayType(ir.IntType(64), 6)
        asked = builder.alloca(kind)
        nothing = ir.Constant(kind, [0] * 6)
        builder.store(builder.insert_value(nothing, arguments[0], 0), asked)
        answers = ir.FunctionType(word, [word, asked.type])
        places = "={rdx},{rdx},{rax},~{memory},~{cc}"
        request = ir.InlineAsm(answers, _REQUEST, places, side_effect=True)
        builder.call(request, [word(0), asked])
        return context.get_dummy_value()

    return types.none(types.int64), build


_requested: Any = intrinsic(_request)


@numba.njit
def request(number: int) -> None:
    """Ask valgrind for something; nothing happens without it."""
    _requested(number)


def make(pages: int) -> None:
    """Make decisions, and have the last `DECISIONS` of them counted."""
    made = Decisions(BayesianIndex, pages)
    made.go_on(BEFORE)
    binding.initialize_native_asmparser()
    request(BEGIN)
    made.go_on(DECISIONS)
    request(END)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--make", action="store_true", help="only make the decisions")
    asked = parser.parse_args()
    if asked.make:
        make(asked.pages)
    elif can_count():
        print(f"{instructions_a_decision(asked.pages):,.0f} instructions a decision")
    else:
        sys.exit("install valgrind, on a processor of the kind x86-64, to count instructions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
