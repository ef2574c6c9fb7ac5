"""Compiled programs, which a process keeps until it is told that they are done with.

One of them takes some megabytes. A command that makes many unlike ones, one after the
other, calls ``forget`` in between; what is needed again is compiled again, or read from
JAX's cache on disk.
"""

import ctypes
import gc
import sys


def forget() -> None:
    """Drops every compiled program of this process, and what was traced for it."""
    jax = sys.modules.get("jax")
    if jax is None:
        return
    engine = sys.modules.get("jaxsel.kernel.engine")
    if engine is not None:
        engine.forget_programs()
    jax.clear_caches()
    gc.collect()
    _give_back()


def _give_back() -> None:
    """Hands freed memory to the system where the C library can (glibc): it keeps what lies
    between blocks in use, and a process grows by every program that it ever had."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
