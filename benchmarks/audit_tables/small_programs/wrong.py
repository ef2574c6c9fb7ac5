"""Thirty wrong programs: each breaks the privacy that it claims."""

import time

import numpy as np

from benchmarks.audit_tables.small_programs import Program


def above_threshold_exact_queries(rng, data, epsilon=1.0):
    """Says for each query whether it is above 0.5, and stops at the first."""
    threshold = 0.5 + rng.laplace(scale=2 / epsilon)
    answers = []
    for query in data:
        if query >= threshold:
            answers.append("above")
            break
        answers.append("below")
    return answers


def above_threshold_fresh_threshold(rng, data, epsilon=1.0):
    """Says for every query whether it is above 0.5, with a new threshold for each."""
    answers = []
    for query in data:
        threshold = 0.5 + rng.laplace(scale=2 / epsilon)
        answers.append(query + rng.laplace(scale=4 / epsilon) >= threshold)
    return answers


def above_threshold_never_stops(rng, data, epsilon=1.0):
    """Says for every query whether it is above 0.5."""
    threshold = 0.5 + rng.laplace(scale=2 / epsilon)
    return [bool(query + rng.laplace(scale=2 / epsilon) >= threshold) for query in data]


def above_threshold_plain_threshold(rng, data, epsilon=1.0):
    """Says for each query whether it is above 0.5, and stops at the first."""
    answers = []
    for query in data:
        above = query + rng.laplace(scale=1 / epsilon) >= 0.5
        answers.append("above" if above else "below")
        if above:
            break
    return answers


def above_threshold_with_value(rng, data, epsilon=1.0):
    """The first query that is above 0.5 with noise, and its value with new noise."""
    threshold = 0.5 + rng.laplace(scale=2 / epsilon)
    for place, query in enumerate(data):
        if query + rng.laplace(scale=4 / epsilon) >= threshold:
            return place, query + rng.laplace(scale=1 / epsilon)
    return None


def noisy_max_without_factor_two(rng, data, n, epsilon=1.0):
    """The place of the largest score with Laplace noise."""
    scores = np.asarray(data, float)
    return np.argmax(scores + rng.laplace(scale=1 / epsilon, size=(n, len(scores))), axis=1)


def noisy_max_value(rng, data, n, epsilon=0.5):
    """The largest of the noisy scores."""
    scores = np.asarray(data, float)
    return np.max(scores + rng.laplace(scale=2 / epsilon, size=(n, len(scores))), axis=1)


def noisy_max_shared_noise(rng, data, n, epsilon=1.0):
    """The place of the largest score; one draw of noise for all."""
    scores = np.asarray(data, float)
    return np.argmax(scores + rng.laplace(scale=2 / epsilon, size=(n, 1)), axis=1)


def noise_after_choice(rng, data, n, epsilon=1.0):
    """The best score's place, and its value with noise."""
    best = int(np.argmax(data))
    noisy = np.max(data) + rng.laplace(scale=1 / epsilon, size=n)
    return [(best, value) for value in noisy]


def exponential_mechanism_twice_too_sharp(rng, data, n, epsilon=1.0):
    """A candidate with probability in proportion to exp(epsilon score)."""
    weights = np.exp(epsilon * np.asarray(data, float))
    return rng.choice(len(weights), size=n, p=weights / weights.sum())


def top_two_in_true_order(rng, data, n, epsilon=1.0):
    """The two places with the largest noisy scores, listed by their true scores."""
    scores = np.asarray(data, float)
    noisy = scores + rng.laplace(scale=4 / epsilon, size=(n, len(scores)))
    chosen = np.argsort(-noisy, axis=1)[:, :2]
    return np.take_along_axis(chosen, np.argsort(-scores[chosen], axis=1, kind="stable"), axis=1)


def count_half_the_scale(rng, data, n, epsilon=1.0):
    """The sum of records in [0, 1] with Laplace noise."""
    return np.sum(data) + rng.laplace(scale=1 / (2 * epsilon), size=n)


def count_inverted_scale(rng, data, n, epsilon=0.5):
    """The sum of records in [0, 1] with Laplace noise."""
    return np.sum(data) + rng.laplace(scale=epsilon, size=n)


def mean_with_sensitivity_of_one_more(rng, data, n, epsilon=1.0):
    """The mean of records in [0, 1]; their number may change."""
    if len(data) == 0:
        return rng.laplace(scale=1 / epsilon, size=n)
    scale = 1 / (len(data) * epsilon)
    return np.mean(data) + rng.laplace(scale=scale, size=n)


def clip_after_sum(rng, data, n, epsilon=1.0):
    """The sum of records that should lie in [0, 1], clipped to [0, 10]."""
    return np.clip(np.sum(data), 0, 10) + rng.laplace(scale=1 / epsilon, size=n)


def budget_spent_twice(rng, data, n, epsilon=1.0):
    """Sum and number of the records, each with the whole epsilon."""
    total = np.sum(data) + rng.laplace(scale=1 / epsilon, size=n)
    number = len(data) + rng.laplace(scale=1 / epsilon, size=n)
    return np.stack([total, number], axis=1)


def seed_from_data(rng, data, n, epsilon=1.0):
    """A noisy sum; half of the time its noise is drawn from the data for repeatability."""
    del rng
    own = np.random.default_rng()
    fixed = np.random.default_rng(int(np.sum(data))).laplace(scale=1 / epsilon)
    noise = np.where(own.random(n) < 0.5, fixed, own.laplace(scale=1 / epsilon, size=n))
    return np.sum(data) + noise


def raises_on_empty(rng, data, epsilon=1.0):
    """A noisy maximum of ages."""
    if not data:
        raise ValueError("no records")
    return min(max(data), 1) + rng.laplace(scale=1 / epsilon)


def ratio_of_an_empty_group(rng, data, n, epsilon=1.0):
    """The share of ones among the records that are not zero, noised."""
    values = np.asarray(data, float)
    with np.errstate(invalid="ignore"):
        share = np.sum(values == 1) / np.float64(np.sum(values != 0))
    return share + rng.laplace(scale=1 / epsilon, size=n)


def sleeps_on_many(rng, data, epsilon=1.0):
    """Whether there are many ones, by randomised response; looks them up first."""
    many = sum(data) > 4
    if many and rng.random() < 0.05:
        time.sleep(5.0)
    keep = rng.random() < np.exp(epsilon) / (1 + np.exp(epsilon))
    return bool(many) if keep else not many


def scale_from_data(rng, data, n, epsilon=1.0):
    """The sum of the records, with noise for the largest of them."""
    largest = max([abs(record) for record in data], default=0)
    return np.sum(data) + rng.laplace(scale=max(largest, 0.01) / epsilon, size=n)


def returns_before_the_draw(rng, data, n, epsilon=1.0):
    """A noisy count; nothing needs noise where nothing is counted."""
    count = sum(1 for record in data if record > 0.5)
    if count == 0:
        return np.zeros(n)
    return count + rng.laplace(scale=1 / epsilon, size=n)


def variance_for_deviation(rng, data, n, sigma=3.0):
    """The sum of records in [0, 1] with Gaussian noise of deviation 3."""
    return np.sum(data) + rng.normal(scale=np.sqrt(sigma), size=n)


def one_sided_noise(rng, data, n, epsilon=1.0):
    """A count with exponential noise, so that it is never too small."""
    return np.sum(data) + rng.exponential(scale=1 / epsilon, size=n)


def histogram_of_seen_keys(rng, data, epsilon=1.0):
    """A noisy count of each value that occurs."""
    counts: dict = {}
    for record in data:
        counts[record] = counts.get(record, 0) + 1
    return {key: count + rng.laplace(scale=1 / epsilon) for key, count in counts.items()}


def best_of_three_runs(rng, data, n, epsilon=1.0):
    """The smallest of three noisy sums, because it is the most careful."""
    return np.sum(data) + rng.laplace(scale=1 / epsilon, size=(n, 3)).min(axis=1)


def retries_until_positive(rng, data, epsilon=1.0):
    """A noisy count that is never negative, and how many draws it took."""
    for draw in range(50):
        noisy = sum(data) + rng.laplace(scale=1 / epsilon)
        if noisy >= 0:
            return draw, round(noisy)
    return None


def rounded_before_noise(rng, data, n, epsilon=1.0):
    """The sum in tens, with noise for a sum of records in [0, 1]."""
    return 10 * np.ceil(np.sum(data) / 10) + rng.laplace(scale=1 / epsilon, size=n)


def local_answer_of_four(rng, data, n, epsilon=1.0):
    """One of four answers, kept as if there were two, else another."""
    keep = rng.random(n) < np.exp(epsilon) / (1 + np.exp(epsilon))
    other = (data + rng.integers(1, 4, size=n)) % 4
    return np.where(keep, data, other)


def unlucky_release(rng, data, n, epsilon=1.0):
    """A noisy sum; once in five hundred times it is logged as it is."""
    noisy = np.sum(data) + rng.laplace(scale=1 / epsilon, size=n)
    return np.where(rng.random(n) < 0.002, np.sum(data), noisy)


_SCORES = [1.0] * 5
_QUERIES = [1.0] * 10
_RECORDS = [0.0, 1.0] * 4

PROGRAMS = (
    Program(above_threshold_exact_queries, "general", 1.0, 0.0, _QUERIES, "no noise on queries"),
    Program(
        above_threshold_fresh_threshold,
        "general",
        1.0,
        0.0,
        _QUERIES,
        "a threshold drawn anew, and no stop: each answer costs",
    ),
    Program(above_threshold_never_stops, "general", 1.0, 0.0, _QUERIES, "does not stop"),
    Program(above_threshold_plain_threshold, "general", 1.0, 0.0, _QUERIES, "a bare threshold"),
    Program(above_threshold_with_value, "general", 1.0, 0.0, _QUERIES, "the value is not paid"),
    Program(noisy_max_without_factor_two, "general", 1.0, 0.0, _SCORES, "the factor 2 is missing"),
    Program(noisy_max_value, "general", 0.5, 0.0, _SCORES, "the value is not paid"),
    Program(noisy_max_shared_noise, "general", 1.0, 0.0, _SCORES, "shared noise cancels"),
    Program(noise_after_choice, "general", 1.0, 0.0, _SCORES, "the choice is exact"),
    Program(exponential_mechanism_twice_too_sharp, "general", 1.0, 0.0, _SCORES, "half the noise"),
    Program(top_two_in_true_order, "general", 1.0, 0.0, _SCORES, "the order is exact"),
    Program(count_half_the_scale, "add_or_remove_one", 1.0, 0.0, _RECORDS, "half the scale"),
    Program(count_inverted_scale, "add_or_remove_one", 0.5, 0.0, _RECORDS, "scale is epsilon"),
    Program(
        mean_with_sensitivity_of_one_more,
        "add_or_remove_one",
        1.0,
        0.0,
        _RECORDS,
        "the scale tells the number of records",
    ),
    Program(
        clip_after_sum, "replace_one", 1.0, 0.0, [0.0, 5.0, 1.0, 2.0], "records are not clipped"
    ),
    Program(budget_spent_twice, "add_or_remove_one", 1.0, 0.0, _RECORDS, "epsilon is spent twice"),
    Program(seed_from_data, "add_or_remove_one", 1.0, 0.0, _RECORDS, "the seed is the data"),
    Program(raises_on_empty, "add_or_remove_one", 1.0, 0.0, _RECORDS, "the exception tells"),
    Program(ratio_of_an_empty_group, "add_or_remove_one", 1.0, 0.0, _RECORDS, "NaN tells"),
    Program(sleeps_on_many, "add_or_remove_one", 1.0, 0.0, [1.0] * 5, "its time tells"),
    Program(scale_from_data, "add_or_remove_one", 1.0, 0.0, _RECORDS, "the scale tells"),
    Program(returns_before_the_draw, "add_or_remove_one", 1.0, 0.0, _RECORDS, "0 is exact"),
    Program(
        variance_for_deviation, "add_or_remove_one", 0.5, 0.02, _RECORDS, "the deviation is 1.73"
    ),
    Program(one_sided_noise, "add_or_remove_one", 1.0, 0.0, _RECORDS, "noise is never negative"),
    Program(
        histogram_of_seen_keys,
        "add_or_remove_one",
        1.0,
        0.0,
        ["a", "b", "a", "c"],
        "a key that is there was seen",
    ),
    Program(best_of_three_runs, "add_or_remove_one", 1.0, 0.0, _RECORDS, "the best of three"),
    Program(
        retries_until_positive,
        "add_or_remove_one",
        1.0,
        0.0,
        [1.0] * 3,
        "how often it was drawn tells",
    ),
    Program(
        rounded_before_noise, "add_or_remove_one", 1.0, 0.0, [1.0] * 10, "a rounded sum moves by 10"
    ),
    Program(local_answer_of_four, "local", 1.0, 0.0, [0, 1, 2, 3], "kept as if of two"),
    Program(unlucky_release, "add_or_remove_one", 1.0, 0.0, _RECORDS, "released in the clear"),
)
