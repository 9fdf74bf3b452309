"""Compiled functions (kernels), whose machine code is kept on disk from one run to the next.

numba's own cache notices an edit of a function's file, but not of a function in another file that
it calls. So the code of all kernels is kept in one folder named after a hash of all their sources,
and an edit leads to another folder (`pollwise.kernel_folder`).
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba

from pollwise.kernel_compiler import Kernel
from pollwise.kernel_folder import kernel_folder

__all__ = ["kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config


@overload
def kernel(function: Function, /) -> Function: ...


@overload
def kernel(
    *,
    allocates: bool = ...,
    forceinline: bool = ...,
    fastmath: bool | set[str] = ...,
    nogil: bool = ...,
) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, /, **options: Any) -> Any:
    """Have numba compile a function at its first call, and keep the code.

    A decorator in the place of `numba.njit(cache=True)`, and with its options. `forceinline` makes
    its code part of its callers': calls that hand over many arrays cost more than a short function.
    A function that makes no array, and takes none from a function that does, says so by
    `allocates=False`: then there is nothing in it that counts references. numba refuses a function
    that makes one, but a result of another that does would never be freed. (`lattice_row` makes a
    view only.)

    From other kernels it gets whole numbers of fewer than 64 bits as such of 64, with their signs:
    what should wrap around sooner has to say so (`np.uint32(number)`).
    """
    if function is None:
        return lambda function: kernel(function, **options)
    if _config.DISABLE_JIT:
        return function
    # Always said: else they would be as with the caller that happens to come first.
    options["_nrt"] = options.pop("allocates", True)
    options.setdefault("forceinline", False)
    made = Kernel(function, targetoptions={"nopython": True, **options})
    made.keep_in(kernel_folder())
    return made
