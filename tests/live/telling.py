"""What commands say on stderr."""

__all__ = ["but_for_slowness"]


def but_for_slowness(err: str) -> str:
    """This without the line by which a command on a busy machine says why it takes long."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("pollwise: getting ready"))
