"""What is compiled is dropped, and what is needed again gives the same."""

import ctypes
import gc
import os
import sys
import weakref
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxsel
from jaxsel.catalogue import find_claim, validation
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.kernel import compiled, engine
from jaxsel.language.base import Budget


def _counts():
    scores, params = np.array([0.0, 1.0, 2.0]), {"epsilon": 1.0}
    return jaxsel.simulate(noisy_max(), scores, params, trials=4096, seed=1).values


def test_what_was_dropped_is_compiled_again_and_counts_the_same():
    traced = []

    @jax.jit
    def twice(x):
        traced.append(x)
        return 2.0 * x

    before = _counts()
    assert float(twice(1.0)) + float(twice(2.0)) == 6.0
    assert engine._compile.cache_info().currsize > 0
    assert len(traced) == 1
    compiled.forget()
    assert engine._compile.cache_info().currsize == 0
    np.testing.assert_array_equal(_counts(), before)
    assert float(twice(2.0)) == 4.0
    assert len(traced) == 2


def _resident() -> int:
    """Bytes of memory that this process has now."""
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library than glibc"
)
def test_freed_memory_goes_back_to_the_system():
    """Though a block in use lies above it."""
    blocks = [bytes(1000) for _ in range(200_000)]
    above = bytes(1000)
    before = _resident()
    del blocks
    compiled.forget()
    assert _resident() < before - 150e6
    del above


def test_validation_drops_what_its_claims_compiled(monkeypatch):
    dropped = []
    monkeypatch.setattr(validation, "_CLAIMS_KEPT", 2)
    monkeypatch.setattr(compiled, "forget", lambda: dropped.append(None))
    claim = find_claim("PS-Thm2")
    found = validation.validate([claim] * 5, Budget(cases=2))
    assert len(found) == 5
    assert len(dropped) == 2


@pytest.mark.parametrize("missing", ["jax", "jaxsel.kernel.engine"])
def test_what_was_never_imported_needs_no_forgetting(monkeypatch, missing):
    called = []
    monkeypatch.setattr(jax, "clear_caches", lambda: called.append("jax"))
    monkeypatch.setattr(engine, "forget_programs", lambda: called.append("engine"))
    monkeypatch.setattr(compiled, "_return_memory", lambda: called.append("memory"))
    compiled.forget()
    assert called == ["engine", "jax", "memory"]
    called.clear()
    monkeypatch.delitem(sys.modules, missing)
    compiled.forget()
    assert called == ([] if missing == "jax" else ["jax", "memory"])


def test_what_refers_to_itself_is_dropped_too():
    """Programs and what they close over often do."""

    class Ring:
        pass

    ring = Ring()
    ring.itself = ring
    left = weakref.ref(ring)
    gc.disable()
    try:
        del ring
        assert left() is not None
        compiled.forget()
        assert left() is None
    finally:
        gc.enable()
