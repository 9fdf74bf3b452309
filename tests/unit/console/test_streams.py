"""What people see of something that is being computed."""

from pollwise.console.streams import progress_line


def test_progress_on_a_terminal_is_one_line_that_goes_away(terminal):
    with terminal.in_use(), progress_line() as report:
        report("uniform [1]")
    assert "uniform [1]" in terminal.plain


def test_progress_without_a_terminal_is_lines(capsys):
    with progress_line() as report:
        report("uniform [1]")
    assert capsys.readouterr() == ("", "uniform [1]\n")
