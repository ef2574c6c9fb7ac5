"""What other libraries call the parameters of a base, and what is said of unknown ones.

Opacus says sample_rate and sigma, TensorFlow Privacy q, n and noise_multiplier, papers
sigma and T; each word is read as the parameter that it means.
"""

from collections.abc import Collection, Iterable, Mapping

from jaxsel.host.errors import InputError
from jaxsel.language.domains import nearest

_DP_SGD = {
    "sigma": "noise_multiplier",
    "noise": "noise_multiplier",
    "z": "noise_multiplier",
    "q": "sampling_probability",
    "sample_rate": "sampling_probability",
    "sampling_rate": "sampling_probability",
    "sampling_prob": "sampling_probability",
    "num_steps": "steps",
    "iterations": "steps",
    "n": "dataset_size",
    "sample_size": "dataset_size",
    "num_examples": "dataset_size",
    "number_of_examples": "dataset_size",
    "num_samples": "dataset_size",
    "lot_size": "batch_size",
    "expected_batch_size": "batch_size",
    "num_epochs": "epochs",
}

WORDS: Mapping[str, Mapping[str, str]] = {
    "dp_sgd": _DP_SGD,
    "gaussian": {"sigma": "noise_multiplier", "z": "noise_multiplier"},
    "laplace": {"scale": "noise_scale", "b": "noise_scale"},
}
"""Family of bases -> another word -> the parameter that it means."""


def spelled(
    family: str, given: Iterable[tuple[str, float]], known: Collection[str]
) -> dict[str, float]:
    """Values by parameter, whatever word they were given under.

    Args:
      family: of the base.
      given: word and value, as written.
      known: the family's parameters.

    Raises:
      InputError: for a word that nobody knows, naming the nearest one, or a parameter
        given twice.
    """
    words = WORDS.get(family, {})
    values: dict[str, float] = {}
    written: dict[str, str] = {}
    for word, value in given:
        name = word if word in known else words.get(word.lower(), word.lower())
        if name not in known:
            raise InputError(
                f"{family} has no parameter {word!r}{nearest(word, [*known, *words])}; it "
                f"takes {', '.join(known)}"
            )
        if name in values:
            twice = (
                f"{word} is"
                if word == written[name]
                else f"{written[name]} and {word} are"
            )
            raise InputError(f"{twice} given for {name} of {family}; give it once")
        values[name], written[name] = value, word
    return values
