"""That polling has stopped, as it is told from one process to the other."""

import pytest

from pollwise.dashboard.stopped import Stopped
from pollwise.errors import InputError


def test_it_comes_back_from_its_line():
    told = Stopped("the disk is full: free some space", 1.0, 61.0, has_begun=True)
    assert Stopped.decode(told.encode()) == told
    assert Stopped.decode('{"polls": 1}') is None


@pytest.mark.parametrize("line", ["", "7", "x", '{"stopped": 1}', '{"stopped": {"until": 1}}'])
def test_other_lines_are_refused(line):
    with pytest.raises(InputError, match="no word of polling"):
        Stopped.decode(line)
