"""Compiled programs: those kept on disk between runs, and those that JAX keeps in a process.

Each of these takes some megabytes. A command that compiles many different programs one after the
other calls ``forget`` in between; a program that is needed again is compiled again, or read
from JAX's cache on disk.
"""

import ctypes
import gc
import os
import sys
from pathlib import Path

from jaxsel.host import source_digest


def forget() -> None:
    """Drops all compiled programs and traces of this process."""
    jax = sys.modules.get("jax")
    if jax is None:
        return
    engine = sys.modules.get("jaxsel.kernel.engine")
    if engine is not None:
        engine.forget_programs()
    jax.clear_caches()
    gc.collect()
    _return_memory()


def _return_memory() -> None:
    """Returns freed memory to the system, where the C library is glibc.

    Otherwise it keeps freed memory between blocks in use, and the process grows with every
    program."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def compilation_cache() -> None:
    """Caches compiled programs, and digests of source code, on disk between runs.

    A cache folder that is set in JAX's own configuration takes precedence.
    """
    import jax

    digest_cache()
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    jax.config.update("jax_compilation_cache_dir", str(_cache() / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


def digest_cache() -> None:
    """Caches digests of source code on disk between runs; JAX is not needed for that."""
    source_digest.cache_in(_cache() / "digests")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jaxsel"
