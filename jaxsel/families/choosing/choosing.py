"""The choosing mechanism: selection from a family of scores with small total sensitivity.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 7. If all scores together change by at
most k between neighbours, the loss depends on k and not on the number of candidates.
Stable selection draws in the same way, with clipped scores.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxsel.families.choosing.laws import NoisySelection, choosing_settings, group_law
from jaxsel.families.choosing.parameters import METHODS, Beta, Bound, Delta, Epsilon
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import look_up, noise, stream
from jaxsel.kernel.logarithm import log
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice, whole
from jaxsel.language.signature import read_params, validated

Method = Annotated[str, choice(METHODS)]
_PRIOR_TAG, _MEMBER_TAG = 0xC7, 0xC8
_FEW = 64  # candidates up to which every one gets a slot, so that all small inputs share a shape
_MOST_LITERAL = 100_000  # runs of one trial


class Chosen(NamedTuple):
    """The released candidate, and its loss of utility.

    Attributes:
      label: Int[Array, ""], the released candidate (or group); the number of candidates (or
        groups) if nothing is released.
      loss: Float[Array, ""], by how much the candidate's score is below the best one, without
        noise; inf if nothing is released. It is not private.
    """

    label: Int[Array, ""]
    loss: Float[Array, ""]


class Candidates(NamedTuple):
    """The candidates and their scores, as read from the data.

    Attributes:
      scores: Float64["groups"]; each candidate is a group of its own unless ``grouped``.
      counts: Float64["groups"], how many candidates have each score.
      grouped: whether the data gives groups of identical candidates; labels are then groups.
    """

    scores: np.ndarray
    counts: np.ndarray
    grouped: bool


def read_candidates(data: Any) -> Candidates:
    """Reads scores, or a mapping with "scores" and "counts".

    Raises:
      InputError: for other keys, arrays that are no lists, or counts below 1.
    """
    if not isinstance(data, Mapping):
        scores = check_finite("scores", data)
        if scores.ndim != 1:
            raise InputError("scores must be one list of numbers")
        return Candidates(scores, np.ones(scores.size), False)
    if set(data) != {"scores", "counts"}:
        raise InputError('groups of candidates are given by "scores" and "counts"')
    scores = check_finite("scores", data["scores"])
    counts = check_finite("counts", data["counts"])
    if scores.ndim != 1 or scores.shape != counts.shape or np.any(counts < 1.0):
        raise InputError("counts must hold one number >= 1 for each score")
    return Candidates(scores, counts, True)


class _Groups(NamedTuple):
    """Groups of candidates to whose equal scores noise is added, padded to a fixed number.

    Attributes:
      levels: Float["groups"], the score to which noise is added; -inf for padding.
      sizes: Float["groups"], how many candidates the group has.
      starts: Int["groups"], where the labels of the group begin in ``members``.
      choices: Float["groups"], how many labels the group has; the winner is one of them, drawn
        uniformly. A group that the data gives has one label, whatever its size.
      members: Int["labels"], the labels, group after group.
      losses: Float["labels"], by how much the score of each label is below the best.
    """

    levels: np.ndarray
    sizes: np.ndarray
    starts: np.ndarray
    choices: np.ndarray
    members: np.ndarray
    losses: np.ndarray


def _literal_groups(found: Candidates, levels: np.ndarray, runs: int) -> _Groups:
    """A group for every single candidate; ``runs`` is tau.

    Raises:
      InputError: if there are more runs than ``_MOST_LITERAL``.
    """
    if found.counts.sum() * runs > _MOST_LITERAL:
        raise InputError(f'method "literal" makes at most {_MOST_LITERAL} runs; use "grouped"')
    counts = np.floor(found.counts).astype(np.int64)
    members = np.repeat(np.arange(levels.size), counts).astype(np.int32)
    return _Groups(
        levels[members],
        np.ones(members.size),
        np.arange(members.size, dtype=np.int32),
        np.ones(members.size),
        members,
        found.scores.max() - found.scores,
    )


@validated
def _level_groups(
    found: Candidates, levels: np.ndarray, groups: Annotated[int | None, whole(at_least=1)] = None
) -> _Groups:
    """A group for each different level, padded so that neighbouring inputs have equal shapes.

    Groups that the data gives stay as they are.

    Args:
      found: the candidates.
      levels: Float["candidates"], or Float["groups"]: the scores to which noise is added.
      groups: to how many groups the input is padded. By default it is the number of candidates
        if these are at most 64 or all different, else the number of levels, rounded up to a
        power of 2 that is at least 64.

    Raises:
      InputError: if there are more levels than ``groups``.
    """
    if found.grouped:
        order, starts = np.arange(levels.size), np.arange(levels.size)
        sizes, choices = found.counts, np.ones(levels.size)
    else:
        order = np.argsort(-levels, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(levels[order]) != 0.0))
        sizes = np.diff(np.append(starts, levels.size)).astype(np.float64)
        choices = sizes
    slots = groups or max(starts.size, min(levels.size, _FEW))
    if groups is None and _FEW < slots < levels.size:
        slots = 2 ** int(slots - 1).bit_length()
    padding = slots - starts.size
    if padding < 0:
        raise InputError(f"groups is {groups}; there are {starts.size} different levels")
    first = levels[order[starts]]
    return _Groups(
        np.append(first, np.full(padding, -np.inf)),
        np.append(sizes, np.ones(padding)),
        np.append(starts, np.zeros(padding)).astype(np.int32),
        np.append(choices, np.ones(padding)),
        order.astype(np.int32),
        found.scores.max() - found.scores,
    )


def _label(chosen: Chosen) -> Array:
    """The event: the released label."""
    return chosen.label


def _noise_at(tail: Array, params) -> Array:
    """The value of truncated Laplace noise that a fresh draw exceeds with probability ``tail``."""
    truncation = params["truncation"]
    nearer = jnp.minimum(tail, 1.0 - tail)
    size = -log(truncation + 2.0 * (1.0 - truncation) * nearer)
    return jnp.where(tail <= 0.5, size, -size) / params["rate"]


def _grouped(key, p: Array, data: _Groups, params) -> tuple[Array, Array]:
    """The best group, and whether any run was made; one draw per group is the best of its runs."""
    levels, sizes = jnp.asarray(data.levels), jnp.asarray(data.sizes)

    def compete(place, state):
        best, group = state
        number = noise.number(key, place.astype(jnp.uint32))
        # Let q be the probability that one run is made and beats the best of the group's n runs.
        # It is distributed as 1 - U^(1/n) for uniform U, and q >= p means that no run was made.
        waiting = noise.exponential(number) / (params["runs"] * sizes[place])
        beaten = -jnp.expm1(-waiting)
        ran = beaten < p
        score = levels[place] + _noise_at(jnp.where(ran, beaten / p, 1.0), params)
        better = ran & (score > best)
        return jnp.where(better, score, best), jnp.where(better, place, group)

    # A loop, not an array of groups: a block of trials stays in cache.
    start = (jnp.asarray(-jnp.inf, jnp.float64), jnp.asarray(0, jnp.int32))
    last = jnp.asarray(levels.shape[0], jnp.int32)
    best, group = lax.fori_loop(jnp.asarray(0, jnp.int32), last, compete, start)
    return group, best > -jnp.inf


def _literal(key, p: Array, data: _Groups, params) -> tuple[Array, Array]:
    """The best group, and whether any run was made, where every run of every candidate is drawn.

    Each run is made with probability p, and has noise of its own.
    """
    count = data.levels.shape[0]
    draws = jnp.arange(count, dtype=jnp.uint32)
    bound = -jnp.log(params["truncation"])

    def round_of_runs(number, state):
        best, group = state
        here = stream.at_round(key, number)
        coin = noise.uniform(noise.number(here, draws))
        number = noise.number(here, draws + jnp.uint32(count))
        score = jnp.asarray(data.levels)
        score = score + noise.truncated_laplace(number, bound) / params["rate"]
        score = jnp.where(coin <= p, score, -jnp.inf)
        winner = jnp.argmax(score)
        better = score[winner] > best
        return (jnp.where(better, score[winner], best), jnp.where(better, winner, group))

    start = (jnp.asarray(-jnp.inf, jnp.float64), jnp.asarray(0, jnp.int64))
    rounds = params["runs"].astype(jnp.int32)
    best, group = lax.fori_loop(0, rounds, round_of_runs, start)
    return group, best > -jnp.inf


@validated
def noisy_selection(
    method: Method, read: Callable[[Any, Any], tuple[Candidates, np.ndarray, NoisySelection]]
) -> Mechanism:
    """The mechanism that both selections share: the candidate of the best noisy run is released.

    Args:
      method: see ``choosing_mechanism``.
      read: ``(data, params) -> (candidates, levels, settings)``, where levels are the scores
        to which truncated Laplace noise is added, Float["groups"].
    """

    def prepare(data, params):
        found, levels, settings = read(data, params)
        if method == "literal":
            groups = _literal_groups(found, levels, settings.runs)
        else:
            groups = _level_groups(found, levels, params.get("groups"))
        return groups, {
            "rate": np.float64(settings.rate),
            "truncation": np.float64(settings.truncation),
            "runs": np.float64(settings.runs),
        }

    def sample(key: stream.Key, data: _Groups, params) -> Chosen:
        # One p for all candidates, uniform: gamma = 1.
        p = noise.uniform(noise.number(stream.fold(key, _PRIOR_TAG), 0))
        run = _literal if method == "literal" else _grouped
        group, ran = run(key, p, data, params)
        number = noise.number(stream.fold(key, _MEMBER_TAG), 0)
        choices = jnp.asarray(data.choices)[group]
        # The uniform number may be 1, hence the minimum.
        place = jnp.minimum(jnp.floor(noise.uniform(number) * choices), choices - 1.0)
        index = jnp.asarray(data.starts)[group] + place.astype(jnp.int32)
        label, losses = look_up.pick(data.members, index), jnp.asarray(data.losses)
        return Chosen(
            jnp.where(ran, label, losses.shape[0]).astype(jnp.int32),
            jnp.where(ran, losses[label], jnp.inf),
        )

    def labels(data, params) -> tuple[str, ...]:
        del params
        return (*(str(i) for i in range(read_candidates(data).scores.size)), "none")

    def law(data, params) -> FiniteLaw:
        found, levels, settings = read(data, params)
        different, group = np.unique(levels, return_inverse=True)
        sizes = np.bincount(group, found.counts)
        shares = group_law(different, sizes, settings)
        each = shares[group] * found.counts / sizes[group]
        return FiniteLaw(np.append(each, shares[-1]), labels(data, params))

    return Mechanism(
        prepare=prepare, sample=sample, event=_label, labels=labels, law=law, resolution=2.0**-53
    )


def read_settings(params: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters "epsilon", "delta", "beta" and those of ``own``, each read by its domain.

    "groups" may be given, too, and is left out.
    """
    needed = {"epsilon": Epsilon, "delta": Delta, "beta": Beta, **own}
    read = read_params(params, needed, {"groups": None})
    return {key: read[key] for key in needed}


@factory
def choosing_mechanism(*, method: Method = "grouped") -> Mechanism:
    """Releases the candidate whose noisy score is the largest over all runs.

    All scores together move by at most k between neighbours (Cohen et al. 2022, Theorem 7).

    Args:
      method: "literal" makes every run, as the paper writes it; "grouped" draws the
        best run of all candidates of one score at once.

    Data: scores, Float["m"]; or {"scores", "counts"} for groups of identical
      candidates, of any size; labels are then groups.
    Params: "epsilon" and "delta", of the whole mechanism; "beta", the failure probability;
      "bound", k, by which all scores together may change (each changes by at most 1);
      optionally "groups", the number of groups of equal scores to which the input is padded,
      so that the cells of a grid have equal shapes.
    Outcome: ``Chosen``. Event: the released label; "none" comes last.

    Formal guarantees (claims): CL-Thm7, CL-Thm7-sharp, CL-Thm7-utility.

    Raises:
      InputError: for too many runs for "literal".
    """

    def read(data, params):
        found = read_candidates(data)
        settings = choosing_settings(**read_settings(params, {"bound": Bound}))
        return found, found.scores, settings

    return noisy_selection(method, read)
