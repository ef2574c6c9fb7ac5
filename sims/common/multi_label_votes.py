"""Votes of the teachers of the multi-label experiment (Zhu & Wang 2022, EXP3).

600 test images of CelebA, 40 attributes each, 800 teachers. There are no images here,
so no teacher can be trained: votes are simulated from the true attributes, with error
rates that ``sims.data.teachers.error_rates`` derives from the attributes' frequencies
and one number, the separation. The first scenario's teachers err on about 13 % of the
labels, as the published network of Liu et al. 2015 does after training on all images;
the second's on 1.5 %, better than any published classifier. Where the user has votes of
real teachers (``sims.data.teachers.load_votes``) they are the first scenario.
"""

import dataclasses
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.families.top_k.votes import scaled_votes
from jaxsel.language.domains import whole
from sims.data import celeba, teachers

SEPARATIONS = (1.5, 4.0)
IMAGE_SHARE = 0.5
TEACHER_SHARE = 0.1
_SEED = 2022  # of the images and the votes; the seed of a run is that of the noise


class Scenario(NamedTuple):
    """Votes on all queries, counted.

    Attributes:
      votes: Float["queries labels"], teachers that voted for each label.
      scaled: Float["queries labels"], the same after each teacher's votes for a query were
        scaled to tau in all.
      truth: Bool["queries labels"].
      teachers: number of teachers.
      accuracy: fraction of single votes that are correct.
      false_positive, false_negative: fraction of wrong votes among absent and among present
        labels.
      source: description of the origin of truth and votes.
      simulated: whether the votes are simulated.
      generated: whether the true labels are generated, too.
    """

    votes: np.ndarray
    scaled: np.ndarray
    truth: np.ndarray
    teachers: int
    accuracy: float
    false_positive: float
    false_negative: float
    source: str
    simulated: bool
    generated: bool


def scenario(found: teachers.TeacherVotes, source: str, generated: bool, tau: int = 8) -> Scenario:
    """Counts the votes of one set of teachers."""
    votes, truth = found.votes, found.truth
    scaled = np.stack(
        [scaled_votes(votes[:, query], float(tau)) for query in range(truth.shape[0])]
    )
    return Scenario(
        votes.sum(axis=0).astype(np.float64),
        scaled,
        truth,
        votes.shape[0],
        found.accuracy,
        float(votes[:, ~truth].mean()),
        float(1.0 - votes[:, truth].mean()),
        f"{source}, {found.source}",
        found.simulated,
        generated,
    )


@dataclasses.dataclass(frozen=True)
class Votes:
    """Numbers of queries and teachers."""

    queries: Annotated[int, whole("images to be labelled", at_least=10)] = 600
    teachers: Annotated[int, whole("who vote", at_least=10)] = 800
    # The paper does not state tau.
    tau: Annotated[int, whole("labels that a teacher of PATE-tau may vote for", at_least=1)] = 8


def scenarios(asked: Votes = Votes()) -> list[Scenario]:
    """Both scenarios; their true attributes are generated if CelebA is not available.

    If the user has votes of real teachers, the second scenario has the same numbers of
    queries and teachers, and is omitted if CelebA lacks labels or test images.
    """
    have = celeba.celeba_available()
    faces = celeba.load_celeba() if have else celeba.generated_attributes()
    found, separations = [], list(SEPARATIONS)
    queries, seats = asked.queries, asked.teachers
    if teachers.votes_available():
        real = teachers.load_votes()
        found.append(scenario(real, "the user's queries", False, asked.tau))
        seats, queries, labels = real.votes.shape
        fits = labels == len(faces.names) and queries <= len(faces.present) - faces.test
        separations = separations[1:] if fits else []
    for separation in separations:
        truth = celeba.pick_queries(faces, queries, seed=_SEED)
        votes = teachers.simulated_votes(
            truth,
            *teachers.error_rates(faces.frequencies, separation),
            teachers=seats,
            image_share=IMAGE_SHARE,
            teacher_share=TEACHER_SHARE,
            seed=_SEED + 1 + len(found),
        )
        found.append(scenario(votes, faces.source, faces.generated, asked.tau))
    return found
