"""How numba compiles kernels that call others: each is made into machine code once, at the top.

numba makes machine code of every function by itself, with a wrapper for calls from Python, though
its callers have it compiled and optimised into their own code again. Here a kernel that is compiled
because another one calls it stays a part: its code is translated and checked, and no more. That
halves the time to compile a policy. A part that Python calls as well is compiled anew for that.
Kernels that call each other in a circle cannot be compiled so, nor one that Python calls while
another is being compiled.

Not all of what this builds upon is public, so pollwise asks for the versions of numba that have it.
"""

from types import FunctionType
from typing import Any

from numba.core import sigutils
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

__all__ = ["Kernel"]


class _Part(JITCodeLibrary):
    """The code of a part, to be linked into that of its callers."""

    def _optimize_final_module(self) -> None:
        """See numba; its callers are optimised with it in them."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _StandIn:
    """By what callers name a part, in the place of what Python could call."""


class _PartCompiler(Compiler):
    """Compiles a part."""

    def compile_extra(self, func: FunctionType) -> Any:
        """See numba."""
        state = self.state
        state.library = _Part(state.targetctx.codegen(), func.__qualname__)
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        compiled = super().compile_extra(func)
        part = compiled._replace(entry_point=_StandIn())
        state.targetctx.insert_user_function(part.entry_point, part.fndesc, [part.library])
        return part


class Kernel(CPUDispatcher):
    """What numba.njit would make of a function, but for its parts."""

    _cache: Any
    _compiler: Any
    _under_way = 0
    """How many kernels are being compiled, by the thread that has numba's lock."""

    def compile(self, sig: Any) -> Any:
        """See numba."""
        with global_compiler_lock:
            arguments = tuple(sigutils.normalize_signature(sig)[0])
            is_part = Kernel._under_way > 0
            known = self.overloads.get(arguments)
            if known is not None and not is_part and _is_part(known):
                del self.overloads[arguments]
            kept = self._cache, self._compiler.pipeline_class
            Kernel._under_way += 1
            try:
                if is_part:
                    self._cache, self._compiler.pipeline_class = NullCache(), _PartCompiler
                return super().compile(sig)
            finally:
                Kernel._under_way -= 1
                self._cache, self._compiler.pipeline_class = kept

    def add_overload(self, cres: Any) -> None:
        """See numba; Python cannot call a part."""
        if _is_part(cres):
            self.overloads[tuple(cres.signature.args)] = cres
            return
        for environment in cres._find_referenced_environments():  # those of its parts, too
            cres.library.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


def _is_part(compiled: Any) -> bool:
    return isinstance(compiled.library, _Part)
