"""One BLAS thread while many small systems are solved.

The threads of a BLAS library spin while they wait for one another: with matrices as small
as those of the accountant that takes twice the CPU time, and ten times beside busy
processes. The number of threads is a setting of the whole process, so calls from several
Python threads are counted, and the last one to end restores the setting from before the
first.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

# Read by the libraries when they are loaded.
_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_ANY = (*_VARIABLES, "OMP_NUM_THREADS")
ONE_THREAD = dict.fromkeys(_ANY, "1")
"""Environment of a process whose BLAS has one thread."""

_lock = threading.Lock()
_inside = 0  # active calls, over all threads
_limited: Any = None  # restores the thread pools; None while no call is active


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limits BLAS libraries to one thread, and restores their setting at the end.

    A context manager or a function decorator. Nested uses, in any thread, cost nothing.
    """
    global _inside, _limited
    with _lock:
        if _inside == 0:
            from threadpoolctl import threadpool_limits

            _limited = threadpool_limits(limits=1, user_api="blas")
            _release_setting()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                limited, _limited = _limited, None
                limited.restore_original_limits()
                _release_setting()


def _release_setting() -> None:
    """Lets another thread restore the setting that this one has made.

    Newer versions of threadpoolctl let only the thread that first set the OpenBLAS threads
    change them again, as long as it lives.
    """
    from threadpoolctl import OpenBLASController

    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear()


def one_for_this_process() -> None:
    """Gives this process, and those that it starts, one BLAS thread each from now on.

    Meant for programs, not for libraries, which must restore the setting. Environment
    variables that already set a number of threads take precedence.
    """
    if any(name in os.environ for name in _ANY):
        return
    for name in _VARIABLES:
        os.environ[name] = "1"
    # Libraries that are loaded already have read the variables, and are limited directly.
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")
    _release_setting()
