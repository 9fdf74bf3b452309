"""Why a request of a program is refused: a status, one line, and the field that it is about."""

from pollwise.errors import InputError

__all__ = ["About", "RefusedError", "conflict", "not_found"]


class RefusedError(InputError):
    """A request that is refused with this status of HTTP; `field`: what it is about, if one is."""

    def __init__(self, line: str, *, status: int = 400, field: str | None = None) -> None:
        super().__init__(line)
        self.status = status
        self.field = field


def not_found(line: str, field: str | None = None) -> RefusedError:
    """What was named is not there."""
    return RefusedError(line, status=404, field=field)


def conflict(line: str, field: str | None = None) -> RefusedError:
    """What was asked for does not fit how things stand now."""
    return RefusedError(line, status=409, field=field)


class About:
    """A context in which an `InputError` is about this field: it becomes a `RefusedError`."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and not isinstance(error, RefusedError):
            raise RefusedError(str(error), field=self._field) from error
