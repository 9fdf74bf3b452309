"""Figures as files, on disks that are full or gone."""

import resource

import pytest
from matplotlib.figure import Figure

from pollwise.errors import InputError
from pollwise.experiments.figure_files import save


def test_a_figure_is_written_or_the_error_names_it(tmp_path):
    save(Figure(), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(
        InputError, match=r"none/x\.png cannot be written \(No such file .*: choose"
    ):
        save(Figure(), tmp_path / "none" / "x.png")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(InputError, match=r"x\.png cannot be written \(File too large\)"):
            save(Figure(), tmp_path / "x.png")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
