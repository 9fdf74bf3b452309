"""Elements of long arrays, fetched into the cache of the processor before they are needed.

Where arrays are far larger than the cache, a decision would wait some ten times for memory, each
time longer than an index takes. Nothing but the time depends on this.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from pollwise.kernel_cache import kernel

__all__ = ["prefetch"]

_numba: Any = cgutils
_LINE = 64
"""Bytes that are fetched at a time."""
_BYTE, _WORD = ir.IntType(8), ir.IntType(32)
_FOR_WRITING, _KEPT, _DATA = (ir.Constant(_WORD, number) for number in (1, 3, 1))


def _fetch_element(context: Any, array: Any, index: Any) -> Any:
    """Fetch all of an element."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        value = context.make_array(kind)(context, builder, arguments[0])
        element = _numba.get_item_pointer(context, builder, kind, value, [arguments[1]])
        begin = builder.bitcast(element, _BYTE.as_pointer())
        told = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), _WORD, _WORD, _WORD])
        fetch = _numba.get_or_insert_function(builder.module, told, "llvm.prefetch.p0")
        for offset in range(0, kind.dtype.size, _LINE):
            place = builder.gep(begin, [ir.Constant(_WORD, offset)])
            builder.call(fetch, [place, _FOR_WRITING, _KEPT, _DATA])
        return context.get_dummy_value()

    return types.none(array, types.intp), build


_fetched: Any = intrinsic(_fetch_element)


@kernel(forceinline=True, allocates=False)
def prefetch(array: Any, index: int) -> None:
    """Fetch the element of a structured array; there need be none of this number."""
    _fetched(array, index)
