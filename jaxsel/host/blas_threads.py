"""One BLAS thread while many small systems are solved.

The threads of a BLAS library spin while they wait for one another: with matrices as small
as those of the accountant that takes twice the CPU time, and ten times beside busy
processes. How many threads there are is a setting of the whole process, so that calls in
several threads are counted, and the last one to end restores what was before the first.
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

_lock = threading.Lock()
_inside = 0  # calls that have begun and not ended, in all threads
_limited: Any = None  # what restores the pools; None while nobody is inside


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within, BLAS libraries use one thread; afterwards as many as before.

    A context, or a decorator of a function. Within another, in whichever thread, it costs
    nothing.
    """
    global _inside, _limited
    with _lock:
        if _inside == 0:
            from threadpoolctl import threadpool_limits

            _limited = threadpool_limits(limits=1, user_api="blas")
            _let_go()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                limited, _limited = _limited, None
                limited.restore_original_limits()
                _let_go()


def _let_go() -> None:
    """Lets another thread restore what this one has set.

    Newer versions of threadpoolctl take orders about OpenBLAS from one thread only, and
    ignore all others while that one lives.
    """
    from threadpoolctl import OpenBLASController

    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear()


def one_for_this_process() -> None:
    """Gives this process, and those that it starts, one BLAS thread each from now on.

    For programs, which own their process: a library restores what it found. Variables of
    the environment that set a number already are left as they are, and then decide.
    """
    if any(name in os.environ for name in _ANY):
        return
    for name in _VARIABLES:
        os.environ[name] = "1"
    # What is loaded by now has read them already.
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")
    _let_go()
