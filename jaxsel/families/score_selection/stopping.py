"""Random stopping over noisy candidates: Liu & Talwar 2019, Algorithm 2 in Section 5.

Method "jump" makes one draw per candidate. The first run is drawn by itself. The number of further
runs is geometric, from 0 on, which is a Poisson number whose mean m is exponential. Given m,
candidate i is run a Poisson(m w_i) number of times, independently of the others. The best of these
runs has the tail rank E_i/(m w_i) with E_i standard exponential; there is none if this exceeds 1.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsel.families.private_tuning.bases import Draw
from jaxsel.families.private_tuning.private_tuning import Selection, private_tuning, selected
from jaxsel.families.score_selection.candidate_laws import index_law
from jaxsel.families.score_selection.candidates import (
    noised_candidates,
    prepare_candidates,
    score_at_rank,
)
from jaxsel.families.score_selection.parameters import Method
from jaxsel.families.score_selection.settings import ScoreSelection
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism
from jaxsel.language.signature import validated
from jaxsel.repetitions import geometric

_FIRST_TAG, _BEST_TAG = 0xE0, 0xE1


@validated
def candidate_stopping(
    setting: Callable[[Any, Any], ScoreSelection],
    labels: Callable[[Any, Any], tuple[str, ...]],
    method: Method,
) -> Mechanism:
    """Random stopping over the candidates that ``setting`` returns for the input.

    Args:
      setting: ``(data, params) -> ScoreSelection``, on the host; checks the input.
      labels: ``(data, params) ->`` names of the candidates.
      method: "literal" makes every run; "count" and "rank" are those of ``private_tuning``; "jump"
        makes one draw per candidate.
    """
    inner = None
    if method != "jump":
        inner = private_tuning(noised_candidates(), method=method)

    def prepare(data, params):
        candidates, gamma = setting(data, params)
        if inner is not None:
            return inner.prepare(candidates, {"repetitions": geometric(gamma)})
        more = np.float64((1.0 - gamma) / gamma)
        return prepare_candidates(candidates), {"mean_more": more}

    def sample(key, data, params) -> Selection:
        return (_jump if inner is None else inner.sample)(key, data, params)

    def law(data, params) -> FiniteLaw:
        candidates, gamma = setting(data, params)
        chosen = index_law(candidates, geometric(gamma))[:-1]
        return FiniteLaw(chosen, labels(data, params))

    return Mechanism(
        prepare=prepare, sample=sample, event=selected, labels=labels, law=law, resolution=2.0**-53
    )


def _exponential(key: stream.Key, draw):
    return noise.exponential(noise.number(key, draw))


def _jump(key, data, params) -> Selection:
    first: Draw = noised_candidates().draw(stream.fold(key, _FIRST_TAG), data, ())
    best_key = stream.fold(key, _BEST_TAG)
    scores, scales = jnp.asarray(data["scores"]), jnp.asarray(data["noise_scales"])
    weights = jnp.asarray(data["weights"])
    mean = _exponential(best_key, 0) * params["mean_more"]

    def visit(i, best):
        rank = _exponential(best_key, i + 1) / (mean * weights[i])
        score = score_at_rank(rank, scores[i], scales[i], data["noise_bound"])
        better = score > lax.real(best)
        fresh = lax.complex(score, jnp.asarray(i, score.dtype))
        return jnp.where(better, fresh, best)

    # Score and label are one complex number, as in ``kernel.rows``: of two numbers, XLA on CPU
    # would compute the draws of each.
    start = lax.complex(first.score, first.label.astype(first.score.dtype))
    best = lax.fori_loop(0, scores.shape[-1], visit, start)
    label = lax.imag(best).astype(jnp.int32)
    return Selection(label, lax.real(best), jnp.int64(-1))
