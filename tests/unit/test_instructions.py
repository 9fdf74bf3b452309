"""What benchmarks/instructions.py makes of the words of valgrind; a script stands for it here."""

import sys

import pytest


@pytest.fixture
def instructions(import_benchmark):
    return import_benchmark("instructions")


@pytest.fixture
def valgrind(tmp_path, monkeypatch, instructions):
    """Puts a script into the place of valgrind."""

    def put(script):
        program = tmp_path / "valgrind"
        program.write_text(f'#!/bin/sh\nfor N in "$@"; do :; done\n{script}\n')
        program.chmod(0o755)
        monkeypatch.setitem(instructions.ENVIRONMENT, "PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(sys, "executable", "true")  # nothing has to be compiled

    return put


@pytest.mark.parametrize(
    "script",
    [
        'echo "cannot go on" >&2; exit 1',
        'echo "==1== I refs: $N: cannot go on" >&2',
        'echo "==1== I refs: $N"; echo "cannot go on"; exit 1',
    ],
)
def test_where_nothing_was_counted_it_is_shown_what_was_said(instructions, valgrind, script):
    valgrind(script)
    with pytest.raises(SystemExit, match="cannot go on"):
        instructions.instructions_a_decision()


def test_as_many_for_more_decisions_are_none_that_were_counted(instructions, valgrind):
    valgrind('echo "==1== I refs: 7,000"')
    with pytest.raises(SystemExit, match="no decisions"):
        instructions.instructions_a_decision()


def test_it_is_told_for_each_decision(instructions, valgrind):
    """The script takes the number of decisions, its last word, and has a start of its own."""
    valgrind('echo "==1== I   refs:      $((7 + N / 4)),000" >&2')
    assert instructions.can_count()
    assert instructions.instructions_a_decision() == 250.0


def test_nothing_is_counted_without_valgrind_or_on_another_processor(
    instructions, valgrind, monkeypatch, tmp_path
):
    valgrind("exit 1")
    monkeypatch.setattr(instructions.platform, "machine", lambda: "aarch64")
    assert not instructions.can_count()
    monkeypatch.setattr(instructions.platform, "machine", lambda: "x86_64")
    assert instructions.can_count()
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert not instructions.can_count()
