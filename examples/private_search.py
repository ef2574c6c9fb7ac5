"""A private search of your own training: replace `train` and `count_correct` by yours.

All is kept in the folder `private`, which its owner alone can read: the same command goes on after
a kill, and repeats a run that was lost, since all its noise is drawn from its seed. The ledger adds
up all searches of the data set, and refuses one beyond the budget.
"""

import numpy as np

import jaxsel

NOISE, STEPS = 20.0, 25
rng = np.random.default_rng(0)
features = rng.normal(size=(3000, 5))
features /= np.linalg.norm(features, axis=1, keepdims=True)  # each record by itself: norm 1
labels = features @ np.array([3.0, -2.0, 0.0, 1.0, 0.0]) > 0
train_rows, validation_rows = np.arange(2000), np.arange(2000, 3000)


def train(rate, seed):
    """Logistic regression by noisy gradient descent."""
    noise = np.random.default_rng(seed)
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        slope = 1 / (1 + np.exp(-features[train_rows] @ weights)) - labels[train_rows]
        gradient = slope @ features[train_rows] + NOISE * noise.normal(size=weights.size)
        weights -= rate * gradient / len(train_rows)
    return weights


def count_correct(weights):
    """How many validation records are labelled correctly."""
    return int(np.sum((features[validation_rows] @ weights > 0) == labels[validation_rows]))


with jaxsel.PrivateSearch(
    lambda draw: draw.log_uniform(0.1, 100.0),
    base=f"dp_sgd:noise_multiplier={NOISE},sampling_probability=1,steps={STEPS}",
    repetitions="geometric:mean=10",
    score=jaxsel.scores.count(noise=8),
    declared="scored=validation,randomness=run.seed",
    storage="private/search",
    ledger="private/ledger:data=made up,budget=4",
) as search:
    for run in search:
        weights = train(run.candidate, run.seed)
        search.tell(run, count_correct(weights), outcome=weights)
    print(search.release())
