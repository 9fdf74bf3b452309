"""How numba compiles kernels that call others: each is made into machine code once, at the top.

numba makes machine code of every function by itself, with a wrapper for calls from Python, though
its callers have it compiled and optimised into their own code again. Here a kernel that is compiled
because another one calls it stays a part: its code is translated and checked, and no more. That
halves the time to compile a policy. A part that Python calls as well is compiled anew for that.
Kernels that call each other in a circle cannot be compiled so, nor one that Python calls while
another is being compiled.

Of several processes that need the same kernel at once one compiles it, and the others wait for what
it keeps on disk.

Code that was kept on disk is not parsed, as numba does in case that other functions call it, before
one does; and what numba needs itself is loaded in less than half of the time.

Not all of what this builds upon is public, so pollwise asks for the versions of numba that have it.
"""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core import entrypoints, sigutils, types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    NullCache,
    UserProvidedCacheLocator,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime import nrtdynmod

from pollwise.kernel_folder import alone

__all__ = ["Kernel"]

_types: Any = types


class _Linked(JITCodeLibrary):
    """Code that parts belong to: those that it calls, and theirs, each once."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._parts: dict[_Part, None] = {}

    def add_linking_library(self, library: Any) -> None:
        """See numba."""
        if not isinstance(library, _Part):
            super().add_linking_library(library)
            return
        library._ensure_finalized()
        self._parts |= {library: None, **library._parts}
        self._reload_init |= library._reload_init
        for other in library._linking_libraries:
            super().add_linking_library(other)

    def _link_parts_into(self, module: Any) -> None:
        for part in self._parts:
            module.link_in(part._final_module, preserve=True)

    def _set_linkage_of_parts(self, module: Any, linkage: str) -> None:
        """Say who else may call the parts that were linked into a module.

        Only once all are: what nobody has called yet would be left out.
        """
        for part in self._parts:
            part._set_linkage(module, linkage)


class _Part(_Linked):
    """The code of a part, to be linked into that of whoever is called by Python."""

    def finalize(self) -> None:
        """See numba; it is linked, checked and optimised with the rest."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def _set_linkage(self, module: Any, linkage: str) -> None:
        """Say who else may call its functions in a module into which they were linked."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                module.get_function(function.name).linkage = linkage

    def _get_module_for_linking(self) -> Any:
        """See numba; for callers that others compile."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            self._link_parts_into(self._shared_module)
            # In any number of modules, and what is not called there may be left out.
            self._set_linkage_of_parts(self._shared_module, "linkonce_odr")
            self._set_linkage(self._shared_module, "linkonce_odr")
            for other in dict.fromkeys(self._linking_libraries):
                self._shared_module.link_in(other._get_module_for_linking(), preserve=True)
        return self._shared_module


class _Whole(_Linked):
    """The code of a kernel that Python calls."""

    def finalize(self) -> None:
        """See numba."""
        self._link_parts_into(self._final_module)
        # Nobody else calls them, so that arguments which they do not use need not be handed over.
        self._set_linkage_of_parts(self._final_module, "internal")
        super().finalize()


class _Kept(JITCodeLibrary):
    """Code from the disk."""

    _bitcode: bytes | None = None

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> "_Kept":
        name, kind, kept_code = state
        if kind != "object":
            return super()._unserialize(codegen, state)  # type: ignore[no-any-return]
        machine_code, bitcode = kept_code
        kept = cls(codegen, name)
        kept._bitcode = bitcode
        kept.enable_object_caching()
        kept._set_compiled_object(machine_code)
        kept._finalize_final_module()
        return kept

    def get_pointer_to_function(self, name: str) -> int:
        """See numba, whose engine does not know the names of code that was not parsed."""
        return self._codegen._engine.get_function_address(name)  # type: ignore[no-any-return]

    def _get_module_for_linking(self) -> Any:
        if self._bitcode is None:
            return super()._get_module_for_linking()
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self._bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module


class _Place(UserProvidedCacheLocator):
    """Where the code of a kernel is, in a folder of ours instead of that of the user."""

    def __init__(self, function: Callable[..., Any], file: str, folder: str) -> None:
        super().__init__(function, file)
        self._cache_path = os.path.join(folder, self.get_suitable_cache_subpath(file))

    def get_source_stamp(self) -> str:
        """See numba; the name of the folder tells by which sources its code was made."""
        return ""


class _Places(NamedTuple):
    """What numba takes for a kind of places: it asks it for that of a function."""

    folder: str

    def from_function(self, function: Callable[..., Any], file: str) -> _Place:
        """See numba."""
        return _Place(function, file, self.folder)


class _KeptResults(CompileResultCacheImpl):
    """What is compiled, as it is kept."""

    _locator_classes: Any

    def __init__(self, function: Callable[..., Any], folder: str) -> None:
        self._locator_classes = [_Places(folder)]
        super().__init__(function)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """See numba."""
        codegen = target_context.codegen()
        usual, codegen._library_class = codegen._library_class, _Kept
        try:
            return super().rebuild(target_context, payload)
        finally:
            codegen._library_class = usual


class _KernelCache(FunctionCache):
    """The cache of a kernel, which is of use if it can be read and written, and no harm else."""

    _impl_class: Any

    def __init__(self, function: Callable[..., Any], folder: str) -> None:
        self._impl_class = partial(_KeptResults, folder=folder)
        self._alone = ExitStack()
        super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """See numba; if nothing is kept, the caller alone compiles until it lets go.

        Whoever waited for it finds what it kept.
        """
        kept = self._read(sig, target_context)
        if kept is None:
            self._alone.enter_context(alone(Path(f"{self._cache_file._index_path}.lock")))
            kept = self._read(sig, target_context)
        return kept

    def _read(self, sig: Any, target_context: Any) -> Any:
        """What is kept; what cannot be read, as after a loss of power, is compiled anew."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # damaged pickles raise any
            with suppress(OSError):
                self.flush()
            return None

    def let_go(self) -> None:
        """Let others compile it."""
        self._alone.close()

    def save_overload(self, sig: Any, data: Any) -> None:
        """See numba; the disk may be full, or another process removes the folder."""
        with suppress(OSError):
            super().save_overload(sig, data)


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


class _WholeCompiler(Compiler):
    """Compiles a kernel that Python calls."""

    def compile_extra(self, func: FunctionType) -> Any:
        """See numba."""
        state = self.state
        state.library = _Whole(state.targetctx.codegen(), func.__qualname__)
        state.library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True  # C calls none
        return super().compile_extra(func)


class Kernel(CPUDispatcher):
    """What numba.njit would make of a function, but for its parts."""

    _cache: Any
    _compiler: Any
    _folder = ""
    """Where its code is kept; empty: nowhere."""
    _under_way = 0
    """How many kernels are being compiled, by the thread that has numba's lock."""
    _is_numba_ready = False

    def keep_in(self, folder: str) -> None:
        """Keep its code in a folder, which is not looked at before it is compiled."""
        self._folder = folder

    def compile(self, sig: Any) -> Any:
        """See numba."""
        with global_compiler_lock:
            if not Kernel._is_numba_ready:
                _make_ready(self.targetctx)
                Kernel._is_numba_ready = True
            arguments = tuple(sigutils.normalize_signature(sig)[0])
            is_part = Kernel._under_way > 0
            if self._folder and not is_part and isinstance(self._cache, NullCache):
                self._cache = _KernelCache(self.py_func, self._folder)
            known = self.overloads.get(arguments)
            if known is not None and not is_part and _is_part(known):
                del self.overloads[arguments]
            kept = self._cache, self._compiler.pipeline_class
            Kernel._under_way += 1
            try:
                self._compiler.pipeline_class = _WholeCompiler
                if is_part:
                    self._cache, self._compiler.pipeline_class = NullCache(), _PartCompiler
                return super().compile(sig)
            finally:
                Kernel._under_way -= 1
                if isinstance(self._cache, _KernelCache):
                    self._cache.let_go()
                self._cache, self._compiler.pipeline_class = kept

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """See numba; callers hand over short whole numbers as long ones, and known as unknown ones.

        So a part is compiled once for all.
        """
        kws = {name: _widened(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(_widened, args)), kws)

    def add_overload(self, cres: Any) -> None:
        """See numba; Python cannot call a part."""
        if _is_part(cres):
            self.overloads[tuple(cres.signature.args)] = cres
            return
        for environment in cres._find_referenced_environments():  # those of its parts, too
            cres.library.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


def _widened(kind: Any) -> Any:
    kind = _types.unliteral(kind)
    is_short = isinstance(kind, _types.Integer) and kind.bitwidth < _types.int64.bitwidth
    return _types.int64 if is_short else kind


class _LateLibrary:
    """The code that counts references, made as soon as code is that it is linked into.

    What is loaded from the disk has it in it.
    """

    def __init__(self, make: Callable[[Any], Any], context: Any) -> None:
        self._make = make
        self._context = context

    @cached_property
    def _made(self) -> Any:
        return self._make(self._context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _is_part(compiled: Any) -> bool:
    return isinstance(compiled.library, _Part)


def _make_ready(context: Any) -> None:
    """Load what numba compiles and loads code by, as it does itself at the first function.

    Each of the templates that the context is filled with has it look for more, though it finds them
    all when it looks again at the end.
    """
    entrypoints.init_all()  # it may run code of others
    _load_array_functions()
    context.refresh = lambda: None
    make, nrtdynmod.compile_nrt_functions = (
        nrtdynmod.compile_nrt_functions,
        partial(_LateLibrary, nrtdynmod.compile_nrt_functions),
    )
    try:
        type(context).refresh(context)
    finally:
        nrtdynmod.compile_nrt_functions = make
        del context.refresh
    context.refresh()


def _load_array_functions() -> None:
    """Load these without scipy: that takes longer than all of numba, and no kernel here needs it.

    numba loads it to know whether it is there. What does need it looks again.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    from numba.np import linalg

    def look_for_scipy() -> None:
        try:
            found = find_spec("scipy")
        except ValueError:  # something else stands in its place
            found = None
        if found is None or found.origin is None:
            raise ImportError("there is no scipy")

    load_scipy, linalg.ensure_blas = linalg.ensure_blas, look_for_scipy
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = load_scipy
    vars(arraymath)["ensure_blas"] = load_scipy
