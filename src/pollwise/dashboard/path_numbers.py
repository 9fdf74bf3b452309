"""Whole numbers in paths, of as many digits as an id may have; starlette takes any number of them,
of which Python reads 4,300.
"""

from starlette.convertors import Convertor, register_url_convertor

__all__ = ["NUMBER"]

NUMBER = "number"
"""The name of these numbers in the path of a route."""


class _Number(Convertor[int]):
    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor(NUMBER, _Number())
