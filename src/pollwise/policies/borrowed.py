"""Arrays without reference counts, for kernels (`pollwise.kernel_cache`) that only use them.

Numba counts references to every array that a compiled function is handed or takes out of a tuple,
by atomic operations, even where the caller holds the array all the time. A state has many arrays,
and a poll of a learner is so short that the counting took more than half of its time.
"""

from typing import Any, cast

from numba.core import types
from numba.extending import intrinsic

__all__ = ["borrowed"]

_COUNTED = (types.Array, types.NumPyRandomGeneratorType)


def _borrowed(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _uncounted(context, builder, value, arguments[0])

    return value(value), generate


borrowed: Any = intrinsic(_borrowed)
"""In compiled code: an array, a generator or a (named) tuple of such, without counts.

They must not outlive those of the caller: hand them to functions that return numbers.
"""


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Numba counts only what has a `meminfo`."""
    if isinstance(kind, types.BaseTuple):
        for n, part in enumerate(cast(Any, kind).types):
            element = _uncounted(context, builder, part, builder.extract_value(value, n))
            value = builder.insert_value(value, element, n)
    elif isinstance(kind, _COUNTED):
        parts = context.make_helper(builder, kind, value)
        parts.meminfo = parts.meminfo.type(None)
        value = parts._getvalue()
    return value
