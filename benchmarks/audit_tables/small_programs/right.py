"""Fifteen right programs that look suspicious: none breaks the privacy that it claims."""

import numpy as np

from benchmarks.audit_tables.small_programs import Program


def clamped_geometric_count(rng, data, n, epsilon=1.0):
    """A count with two-sided geometric noise, clamped to [0, 10]."""
    p = 1 - np.exp(-epsilon)
    noise = rng.geometric(p, size=n) - rng.geometric(p, size=n)
    return np.clip(int(np.sum(data)) + noise, 0, 10)


def noisy_max_of_counts(rng, data, n, epsilon=1.0):
    """The place of the largest count with exponential noise of scale 1/epsilon."""
    scores = np.asarray(data, float)
    return np.argmax(scores + rng.exponential(scale=1 / epsilon, size=(n, len(scores))), axis=1)


def noisy_max_of_scores(rng, data, n, epsilon=1.0):
    """The place of the largest score with Laplace noise of scale 2/epsilon."""
    scores = np.asarray(data, float)
    return np.argmax(scores + rng.laplace(scale=2 / epsilon, size=(n, len(scores))), axis=1)


def permute_and_flip(rng, data, epsilon=1.0):
    """The first accepted candidate in random order."""
    scores = np.asarray(data, float)
    accept = np.exp(epsilon / 2 * (scores - scores.max()))
    for place in rng.permutation(len(scores)):
        if rng.random() < accept[place]:
            return int(place)
    raise AssertionError


def above_threshold(rng, data, epsilon=1.0):
    """Says for each query whether it is above 0.5, and stops at the first."""
    threshold = 0.5 + rng.laplace(scale=2 / epsilon)
    answers = []
    for query in data:
        above = query + rng.laplace(scale=4 / epsilon) >= threshold
        answers.append("above" if above else "below")
        if above:
            break
    return answers


def exponential_mechanism(rng, data, n, epsilon=1.0):
    """A candidate with probability in proportion to exp(epsilon score / 2), by its name."""
    weights = np.exp(epsilon / 2 * np.asarray(data, float))
    names = np.array([f"candidate {place}" for place in range(len(weights))])
    return list(names[rng.choice(len(weights), size=n, p=weights / weights.sum())])


def randomised_response_of_four(rng, data, n, epsilon=1.0):
    """One of four answers, the true one e^epsilon times as likely as each other."""
    keep = rng.random(n) < np.exp(epsilon) / (3 + np.exp(epsilon))
    other = (data + rng.integers(1, 4, size=n)) % 4
    return np.where(keep, data, other)


def histogram_of_all_keys(rng, data, epsilon=1.0):
    """A noisy count of each of three values, whether it occurs or not."""
    return {key: data.count(key) + rng.laplace(scale=1 / epsilon) for key in ("a", "b", "c")}


def mean_of_known_number(rng, data, n, epsilon=1.0):
    """The mean of records clipped to [0, 1], clamped to [0, 1]; their number is public."""
    mean = np.mean(np.clip(data, 0, 1))
    return np.clip(mean + rng.laplace(scale=1 / (len(data) * epsilon), size=n), 0, 1)


def gaussian_sum(rng, data, n, sigma=2.0):
    """A sum of records in [0, 1] with Gaussian noise: delta is .05244 at epsilon .5."""
    return np.sum(data) + rng.normal(scale=sigma, size=n)


def fails_at_random(rng, data, epsilon=1.0):
    """A noisy count; the network fails once in ten times, whatever the data are."""
    if rng.random() < 0.1:
        raise TimeoutError("the network is down")
    return float(np.sum(data) + rng.laplace(scale=1 / epsilon))


def none_for_little(rng, data, epsilon=1.0):
    """A noisy count, or None where it is below 2 after the noise."""
    noisy = sum(data) + rng.laplace(scale=1 / epsilon)
    return None if noisy < 2 else round(noisy, 1)


def name_above_threshold(rng, data):
    """A value's noisy counts where they are above 1 + log(1/(2 delta)), delta .01 in all."""
    released = {}
    for key in sorted(set(data)):
        noisy = data.count(key) + rng.laplace()
        if noisy > 1 + np.log(1 / (2 * 0.01)):
            released[key] = noisy
    return released


def retries_in_silence(rng, data, epsilon=0.5):
    """A noisy count of scale 2/epsilon that is positive, drawn until it is."""
    for _ in range(1000):
        noisy = sum(data) + rng.laplace(scale=2 / epsilon)
        if noisy > 0:
            return noisy
    return 0.0


def two_releases_at_half(rng, data, n, epsilon=1.0):
    """Sum and number of the records, each at half of epsilon."""
    total = np.sum(data) + rng.laplace(scale=2 / epsilon, size=n)
    number = len(data) + rng.laplace(scale=2 / epsilon, size=n)
    return np.stack([total, number], axis=1)


_SCORES = [1.0] * 5
_RECORDS = [0.0, 1.0] * 4

PROGRAMS = (
    Program(
        clamped_geometric_count,
        "add_or_remove_one",
        1.0,
        0.0,
        [0, 1] * 4,
        "post-processing of geometric noise at sensitivity 1",
    ),
    Program(
        noisy_max_of_counts,
        "monotone",
        1.0,
        0.0,
        _SCORES,
        "exponential noise of scale 1/epsilon is enough for monotone scores",
    ),
    Program(noisy_max_of_scores, "general", 1.0, 0.0, _SCORES, "report noisy max"),
    Program(permute_and_flip, "general", 1.0, 0.0, _SCORES, "McKenna & Sheldon 2020"),
    Program(above_threshold, "general", 1.0, 0.0, [1.0] * 10, "Lyu, Su & Li 2017, Algorithm 1"),
    Program(exponential_mechanism, "general", 1.0, 0.0, _SCORES, "McSherry & Talwar 2007"),
    Program(randomised_response_of_four, "local", 1.0, 0.0, [0, 1, 2, 3], "k-ary response"),
    Program(
        histogram_of_all_keys,
        "add_or_remove_one",
        1.0,
        0.0,
        ["a", "b", "a", "c"],
        "a record counts once, and the keys are public",
    ),
    Program(
        mean_of_known_number,
        "replace_one",
        1.0,
        0.0,
        _RECORDS,
        "a replaced record moves the mean by 1/n",
    ),
    Program(
        gaussian_sum, "add_or_remove_one", 0.5, 0.0525, _RECORDS, "Balle & Wang 2018, Theorem 8"
    ),
    Program(
        fails_at_random, "add_or_remove_one", 1.0, 0.0, _RECORDS, "its failure ignores the data"
    ),
    Program(
        none_for_little, "add_or_remove_one", 1.0, 0.0, [1.0] * 3, "post-processing of the count"
    ),
    Program(
        name_above_threshold,
        "add_or_remove_one",
        1.0,
        0.01,
        ["a", "b", "a", "c"],
        "a new key passes the threshold with probability delta",
    ),
    Program(
        retries_in_silence,
        "add_or_remove_one",
        0.5,
        0.0,
        [1.0] * 3,
        "the law given that it is positive costs twice the epsilon of one draw",
    ),
    Program(two_releases_at_half, "add_or_remove_one", 1.0, 0.0, _RECORDS, "basic composition"),
)
