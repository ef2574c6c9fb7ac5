"""The contents of a statement in plain text, which each format escapes and typesets."""

import math
from typing import NamedTuple

from jaxsel.language.printing import rounded_up
from jaxsel.reports import words
from jaxsel.reports.statement import Statement
from jaxsel.tuning.secrecy import SCORE, kept_secret


class Contents(NamedTuple):
    """The text of a statement.

    Attributes:
      title: one line.
      headline: the guarantee in one sentence.
      numbers: the most important numbers, with short names.
      paragraph: sentences for a paper, including the headline.
      rows: names and values of a table.
      notes: the meaning of the numbers.
      references: full bibliographic references.
      headings: of the table, of the paragraph and of the notes.
      command: what a person types to have this again, to be shown as it is.
    """

    title: str
    headline: str
    numbers: tuple[tuple[str, str], ...]
    paragraph: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    references: tuple[str, ...]
    headings: tuple[str, str, str] = (
        "What is proved, and of what",
        "For a paper",
        "What the numbers mean",
    )
    command: str = ""


_RARE = 1e-6  # a probability of no release that is not worth mentioning

_TITLES = {
    "account": "Privacy statement",
    "plan": "Privacy statement of a planned search",
    "search": "Privacy statement of a hyperparameter search",
}


def number(value: float, digits: int = 6) -> str:
    """A number rounded up to so many digits, as text: 1e-6, not 1e-06."""
    text = f"{words.rounded_up(value, digits):.{digits}g}"
    return text.replace("e-0", "e-").replace("e+0", "e")


def contents(statement: Statement) -> Contents:
    """The text of a statement; every number is rounded upwards."""
    headline = _headline(statement)
    paragraph = (
        _released(statement),
        headline,
        _alone(statement),
        _attacks(statement),
        _gaussian(statement),
        _secret(statement),
        _score(statement),
        f"Computed with {_versions(statement)}; numbers are rounded upwards.",
    )
    return Contents(
        _TITLES[statement.subject.kind],
        headline,
        tuple(_numbers(statement)),
        tuple(sentence for sentence in paragraph if sentence),
        tuple(_rows(statement)),
        _notes(statement),
        statement.references,
    )


def _numbers(statement: Statement):
    yield "ε", _epsilon(statement)
    yield "δ", number(statement.subject.delta)
    for fpr, tpr in statement.rates:
        yield f"true positives at {100.0 * fpr:g}\u00a0% false", words.percent(tpr)
    yield "advantage", number(statement.advantage, 3)
    yield "nearest Gaussian, μ", number(statement.mu, 4)


def _epsilon(statement: Statement) -> str:
    return f"{rounded_up(statement.subject.proof.epsilon):g}"


def _what(statement: Statement) -> str:
    found = []
    for part in statement.subject.parts:
        text = words.listed([words.release_words(each) for each in part.releases])
        found.append(f"from the {part.records}, {text}" if part.records else text)
    return "; ".join(found)


def _released(statement: Statement) -> str:
    if statement.all_runs:
        text = f"Every run may be released, with its score: {_what(statement)}."
    else:
        text = f"Released: {_what(statement)}."
    if statement.searches:
        text += (
            " The runs are independent given K, and K and the law of the candidates do "
            "not depend on the data."
        )
    zero = max(
        (
            each.repetitions.probability_zero
            for each in statement.searches
            if each.repetitions is not None
        ),
        default=0.0,
    )
    if zero > _RARE:
        each = (
            "In a search, with"
            if len(statement.subject.parts) == 1
            and sum(release.times for release in statement.searches) > 1
            else "With"
        )
        text += f" {each} probability {zero:.3g} nothing is run or released."
    return text


def _headline(statement: Statement) -> str:
    subject = statement.subject
    return (
        f"The release is (ε, δ)-differentially private with ε = {_epsilon(statement)} and "
        f"δ = {number(subject.delta)}, by {subject.proof.theorem} ({statement.source}); "
        f"neighbouring data sets: {words.relation_words(subject.relation)}."
    )


def _single(statement: Statement) -> str:
    """Epsilon of one run without a search, if it is known and differs from the headline's."""
    single = statement.single
    if single is None or not statement.searches or not math.isfinite(single):
        return ""
    return f"{rounded_up(single):g}"


def _alone(statement: Statement) -> str:
    single = _single(statement)
    if not single:
        return ""
    return f"One run, released without a search, has ε = {single} at the same δ."


def _attacks(statement: Statement) -> str:
    rates = " and ".join(
        f"{words.percent(tpr)} at a false positive rate of {100.0 * fpr:g}\u00a0%"
        for fpr, tpr in statement.rates
    )
    return (
        "A test that sees the release, and says whether a record is in the data, has a "
        f"true positive rate of at most {rates}; true less false positive rate is at "
        f"most {number(statement.advantage, 3)}."
    )


def _gaussian(statement: Statement) -> str:
    return (
        f"It has no more power than against μ-Gaussian differential privacy with "
        f"μ = {number(statement.mu, 4)}, up to {number(statement.floor, 2)} in the true "
        "positive rate; this μ is an upper bound."
    )


def _secret(statement: Statement) -> str:
    if statement.all_runs:
        return "The theorem covers all runs with their scores, and K: none is secret."
    if not statement.searches:
        return ""
    several = sum(each.times for each in statement.searches) > 1
    secret = kept_secret(each.repetitions for each in statement.searches)
    of = f"of each search {secret}" if several else secret
    seed = "The seed, " if statement.subject.kind == "search" else ""
    of = of if seed else of[0].upper() + of[1:]
    return f"{seed}{of} stay secret: the guarantee covers the selected run alone."


def _score(statement: Statement) -> str:
    """The condition on the scores; for a search with validation data the proof covers it."""
    covered = len(statement.subject.parts) > 1
    return "" if covered or not statement.searches else SCORE


def _versions(statement: Statement) -> str:
    return ", ".join(f"{name} {version}" for name, version in statement.versions)


def _rows(statement: Statement):
    subject = statement.subject
    yield "Privacy", f"ε = {_epsilon(statement)}, δ = {number(subject.delta)}"
    yield "Theorem", f"{subject.proof.theorem}: {statement.source}"
    if statement.theorem:
        yield "It states", statement.theorem
    yield "Neighbouring data sets", words.relation_words(subject.relation)
    for part in subject.parts:
        name = f"Released from {part.records}" if part.records else "Released"
        for release in part.releases:
            yield name, words.release_words(release)
    yield "Secret", _kept(statement)
    if score := _score(statement):
        yield "Scores", score
    if single := _single(statement):
        yield "One run, no search", f"ε = {single} at the same δ"
    for fpr, tpr in statement.rates:
        name = f"True positives at {100.0 * fpr:g}\u00a0% false positives"
        yield name, f"at most {words.percent(tpr)}"
    yield "Advantage", f"at most {number(statement.advantage, 3)}"
    yield "Nearest Gaussian", f"μ at most {number(statement.mu, 4)}"
    yield from subject.facts
    yield "Computed with", _versions(statement)


def _kept(statement: Statement) -> str:
    if statement.all_runs:
        return "nothing: the theorem covers every run with its score, and K"
    if not statement.searches:
        return "nothing more than what one run itself keeps"
    seed = "the seed, " if statement.subject.kind == "search" else ""
    secret = kept_secret(each.repetitions for each in statement.searches)
    return f"{seed}{secret}, and their candidates"


def _notes(statement: Statement) -> tuple[str, ...]:
    found = [
        "Every number is an upper bound that is proved for the worst data and the worst "
        "ranking of the runs; attacks in practice do less.",
        "True positive rates: the least of δ(ε) + e^ε × false positive rate over all ε, "
        "in the worse direction (the record is added, or removed).",
        "Advantage: the largest true less false positive rate, which is δ at ε = 0.",
        "Nearest Gaussian: the least μ such that, at every false positive rate x, no "
        "true positive rate exceeds that of one release of N(μ, 1) against N(0, 1), "
        f"Φ(Φ^-1(x) + μ), by more than {number(statement.floor, 2)}. The release itself "
        "may be closer to a Gaussian of a smaller μ than could be proved.",
    ]
    if statement.searches and not statement.all_runs:
        found.insert(
            1,
            "Rates, advantage and μ use the least δ that any theorem proves at each ε, "
            "the priced envelope of jaxsel among them, not the theorem named alone.",
        )
    if len(statement.subject.parts) > 1:
        found.append(
            "A record is used in one of the ways named above; the numbers are those of "
            "the worse one."
        )
    return tuple(found)
