"""`pollwise unmask`: parts of a page that are masked count again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pollwise.errors import InputError
from pollwise.insight.noise import set_masks
from pollwise.live.opening import opened_again
from pollwise.types import MaskState
from pollwise.web.urls import canonical

__all__ = ["unmask"]


def unmask(db: Path, url: str, number: int | None, say: Callable[[str], None]) -> tuple[str, ...]:
    """Have the masked part with this number (None: all) count from the next poll on, for good.

    The texts of these parts. `InputError` if there is no such page or part; `StoreError` as ever,
    also while another process watches the pages. `say`: see `Session`.
    """
    address = canonical(url)
    with opened_again(db, say) as store:
        record = store.find_page(address)
        if record is None:
            raise InputError(f"{address} is not watched in {db}")
        noise = record.memory.noise
        masks = set_masks(record.memory)
        if not masks:
            raise InputError(f"nothing of {address} is masked")
        if number is not None and not 1 <= number <= len(masks):
            raise InputError(
                f"{address} has no masked part {number}: expected 1 to {len(masks)};"
                f" `pollwise explain {address} --db {db}` shows them"
            )
        chosen = masks if number is None else [masks[number - 1]]
        ending = tuple(
            replace(mask, state=MaskState.ENDING) if mask in chosen else mask
            for mask in noise.masks
        )
        store.save_noise(record.page.id, replace(noise, masks=ending))
    return tuple(mask.sample for mask in chosen)
