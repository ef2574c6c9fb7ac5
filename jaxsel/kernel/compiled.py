"""Frees the compiled programs that JAX keeps in a process.

Each takes some megabytes. A command that compiles many different programs one after the
other calls ``forget`` in between; a program that is needed again is compiled again, or read
from JAX's cache on disk.
"""

import ctypes
import gc
import sys


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
