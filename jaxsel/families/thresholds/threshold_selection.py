"""Selection against a known threshold: draw until a run is good enough, or give up.

Liu & Talwar 2019, Algorithm 1, and conditional sampling, Papernot & Steinke 2022,
Appendix C (the same with no random stop).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsel.families.private_tuning.bases import Base
from jaxsel.families.private_tuning.private_tuning import Selection, release, selected
from jaxsel.families.thresholds import parameters
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params

_OPTIONAL = {"stop_probability": parameters.GammaOrZero, "max_draws": parameters.Draws}
_OWN = {"threshold": parameters.Threshold} | _OPTIONAL
_STOP_TAG, _OUTPUT_TAG = 0xD0, 0xD1
_FOREVER = 2**62


class _Settings(NamedTuple):
    threshold: float
    stop: float
    limit: int
    above: np.ndarray

    @property
    def success(self) -> float:
        return min(float(self.above.sum()), 1.0)

    @property
    def log_continue(self) -> float:
        """log of the chance that a draw neither succeeds nor stops the search."""
        with np.errstate(divide="ignore"):
            return float(np.log1p(-self.success) + np.log1p(-self.stop))


@factory
def threshold_selection(base: Base, *, method: parameters.Method = "jump") -> Mechanism:
    """Draw runs until one scores at least the threshold; after each failure stop with
    probability gamma; stop after ``max_draws`` anyway.

    Args:
      base: the algorithm to draw from.
      method: "literal" makes the runs; "jump" draws the number of runs at once and then
        the released run from the base's law above the threshold.

    Data: the base's.
    Params: the base's, and "threshold" (of the score), "stop_probability" (gamma, default 0),
      "max_draws" (T, default unlimited).
    Outcome: Selection; event: the released label, "none" last.

    Formal guarantees (claims): LT-Thm3.1(a) and LT-Thm3.1(b); with gamma = 0 and no
    limit, LT-Thm1.2 and PS-Cor16(1).

    Raises:
      InputError: if no run can reach the threshold and nothing else ends the loop.

    Example:
        >>> import jaxsel
        >>> from jaxsel import bases
        >>> above = jaxsel.threshold_selection(bases.score_table())
        >>> law = above.law([0.1, 0.4, 0.7], {"threshold": 0.3, "stop_probability": 0.5})
        >>> print(law.labels, law.probabilities.round(2))
        ('0', '1', '2', 'none') [0.  0.4 0.4 0.2]
    """

    def checked(data, params) -> tuple[_Settings, dict]:
        own = {name: params[name] for name in _OWN if name in params}
        rest = {name: value for name, value in params.items() if name not in _OWN}
        read = read_params(own, {"threshold": parameters.Threshold}, _OPTIONAL)
        threshold, stop = read["threshold"], read.get("stop_probability", 0.0)
        limit = read.get("max_draws", _FOREVER)
        above = base.law_above(data, rest, threshold)
        if above.sum() == 0 and stop == 0 and limit == _FOREVER:
            raise InputError(
                "no run reaches the threshold and nothing else ends the search; lower "
                "the threshold, or give stop_probability > 0 or max_draws"
            )
        return _Settings(threshold, stop, min(limit, _FOREVER), above), rest

    def prepare(data, params):
        settings, rest = checked(data, params)
        prepared, base_params = base.prepare(data, rest)
        ends_by = -np.expm1(settings.log_continue)
        share = settings.success / ends_by if ends_by > 0 else 0.0
        return prepared, {
            "base": base_params,
            "threshold": np.float64(settings.threshold),
            "stop": np.float64(settings.stop),
            "limit": np.int64(settings.limit),
            "success": np.float64(settings.success),
            "log_continue": np.float64(settings.log_continue),
            "success_given_end": np.float64(min(share, 1.0)),
            "num_labels": np.int32(len(base.labels(data, rest))),
        }

    def sample(key, data, params) -> Selection:
        run = _literal if method == "literal" else _jump
        return run(base, key, data, params)

    def labels(data, params):
        return (*base.labels(data, checked(data, params)[1]), "none")

    def law(data, params) -> FiniteLaw:
        settings, _ = checked(data, params)
        # r^T and the expected number of draws (1 - r^T) / (1 - r).
        log_r, limit = settings.log_continue, settings.limit
        exhausted = np.exp(limit * log_r)
        draws = np.expm1(limit * log_r) / np.expm1(log_r) if log_r < 0 else limit
        none = (1.0 - settings.success) * settings.stop * draws + exhausted
        probabilities = np.append(settings.above * draws, none)
        return FiniteLaw(probabilities, labels(data, params))

    return Mechanism(
        prepare=prepare, sample=sample, event=selected, labels=labels, law=law, resolution=2.0**-53
    )


def _literal(base: Base, key, data, params) -> Selection:
    def go_on(state):
        count, ended, _, _ = state
        return ~ended & (count < params["limit"])

    def once(state):
        count, _, _, _ = state
        run = base.draw(stream.at_round(key, count), data, params["base"])
        good = run.score >= params["threshold"]
        coin = noise.uniform(noise.number(stream.fold(key, _STOP_TAG), count))
        return count + 1, good | (coin < params["stop"]), good, run

    shape = base.draw(key, data, params["base"])
    zeros = jax.tree.map(jnp.zeros_like, shape)
    start = (jnp.int64(0), jnp.asarray(False), jnp.asarray(False), zeros)
    count, _, good, run = lax.while_loop(go_on, once, start)
    return release(run, ~good, params["num_labels"], count)


def _jump(base: Base, key, data, params) -> Selection:
    stop_key = stream.fold(key, _STOP_TAG)
    # Draws go on with chance r each: their number is geometric, and how the last one
    # ends is independent of it.
    gap = noise.exponential(noise.number(stop_key, 0))
    log_r = params["log_continue"]
    # The ceiling of gap / -log r; r = 0 ends at once and r = 1 never does.
    count = jnp.ceil(gap / jnp.where(log_r < 0, -log_r, 1.0))
    limit = params["limit"].astype(count.dtype)
    count = jnp.where(log_r < 0, jnp.maximum(count, 1.0), jnp.inf)
    ended = count <= limit
    count = jnp.minimum(count, limit).astype(jnp.int64)
    good = noise.uniform(noise.number(stop_key, 1)) <= params["success_given_end"]
    rank = noise.uniform(noise.number(stop_key, 2)) * params["success"]
    run = base.at_rank(stream.fold(key, _OUTPUT_TAG), rank, data, params["base"])
    return release(run, ~(ended & good), params["num_labels"], count)
