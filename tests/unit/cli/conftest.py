"""The command line in this process."""

import gc
import signal
from collections.abc import Iterator

import pytest

from pollwise import cli

from .calling import Answer, Run


@pytest.fixture
def run(monkeypatch, capsys, tmp_path) -> Iterator[Run]:
    """Call `pollwise` with these words, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    on_interrupt = signal.getsignal(signal.SIGINT)

    def run(*words: object) -> Answer:
        monkeypatch.setattr("sys.argv", ["pollwise", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert isinstance(end.value.code, int)
        return Answer(end.value.code, *capsys.readouterr())

    yield run
    signal.signal(signal.SIGINT, on_interrupt)
    gc.enable()  # commands that run for long look for no garbage while they start
