"""What a call of `pollwise` answered."""

import json
from collections.abc import Callable
from typing import NamedTuple


class Answer(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self) -> dict:
        def refuse(name: str) -> None:
            raise AssertionError(f"{name} in JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Answer]
