"""What policies select, as whoever asks them uses it."""

from pollwise.checks import shown
from pollwise.errors import InputError
from pollwise.types import Selection

__all__ = ["selected_ids"]


def selected_ids(selection: Selection) -> list[int]:
    """The ids of the pages that a policy selected; `InputError` if it gave something else.

    >>> selected_ids([4])
    Traceback (most recent call last):
    pollwise.errors.InputError: the policy's select gave [4]: it must give \
Selection(np.array(page_ids, np.int64))
    """
    try:
        ids: list[int] = selection.page_ids.tolist()
    except AttributeError as error:
        gave = getattr(selection, "page_ids", None)
        what = f"select gave {shown(selection)}" if gave is None else f"page_ids are {shown(gave)}"
        raise InputError(
            f"the policy's {what}: it must give Selection(np.array(page_ids, np.int64))"
        ) from error
    return ids
