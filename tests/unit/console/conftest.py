"""A terminal of 80 columns."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Standard output and standard error are this terminal."""
        with redirect_stdout(self), redirect_stderr(self):
            yield

    @property
    def plain(self) -> str:
        """What was written, without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()
