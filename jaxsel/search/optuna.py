"""A private search by an objective as Optuna's users write it (define-by-run).

Optuna hands out the parameters, which are drawn from the run's own secret, and never sees a
score: the study is told one constant for every trial. Its defaults would not do: TPE looks at
scores that are not released, the median pruner compares runs with each other, its file can be read
by all, and its log prints every value. Optuna is an optional dependency (``pip install
jaxsel[optuna]``).
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

# Optuna is optional, and is not there where types are checked.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.pruners import NopPruner
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from jaxsel.host.errors import InputError
from jaxsel.search.draws import Draw
from jaxsel.search.private_search import PrivateSearch, Winner, attempt

__all__ = ["PrivateSampler", "PrivateTrial", "RefusedError", "optimise", "suggested"]

_TOLD = 0.0
"""What the study is told of every trial."""


class RefusedError(InputError):
    """An objective did what no objective may, whatever the data."""


class PrivateSampler(BaseSampler):
    """Draws each parameter from the secret of the run that a trial belongs to."""

    def __init__(self) -> None:
        self.draws: dict[int, Draw] = {}

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """No parameter is drawn in view of others' trials."""
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Nothing: see ``infer_relative_search_space``."""
        return {}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A parameter, uniform in its distribution.

        Raises:
          InputError: for a trial that the search did not hand out.
        """
        if trial.number not in self.draws:
            raise InputError(
                "that trial was not handed out by the private search; who adds trials or calls "
                "optimize chooses candidates that are not drawn by it"
            )
        return _drawn(self.draws[trial.number], param_distribution)


def _drawn(draw: Draw, wanted: BaseDistribution) -> Any:
    match wanted:
        case CategoricalDistribution():
            return draw.choice(wanted.choices)
        case IntDistribution() if wanted.log:
            # Each whole number has the share of its interval on the logarithmic scale.
            return round(draw.log_uniform(wanted.low - 0.5 + 1e-9, wanted.high + 0.5 - 1e-9))
        case IntDistribution():
            steps = (wanted.high - wanted.low) // wanted.step
            return wanted.low + wanted.step * draw.integer(0, steps)
        case FloatDistribution() if wanted.step is not None:
            # As decimals, as Optuna counts its steps: 0.6 and not 0.6000000000000001.
            low, step = Decimal(str(wanted.low)), Decimal(str(wanted.step))
            steps = int((Decimal(str(wanted.high)) - low) // step)
            return float(low + step * draw.integer(0, steps))
        case FloatDistribution() if wanted.log:
            return draw.log_uniform(wanted.low, wanted.high)
        case FloatDistribution():
            return draw.uniform(wanted.low, wanted.high)
    raise RefusedError(f"a private search draws no {type(wanted).__name__}")


_REFUSED = {
    "report": "an intermediate score would stand in the study's storage",
    "should_prune": "a pruner compares runs; stop a run by a rule of its own and raise TrialPruned",
    "set_user_attr": "what it holds would stand in the study's storage; return it as the outcome",
    "set_system_attr": "what it holds would stand in the study's storage",
    "number": "the number of a run tells of K; name files by something else",
}


class PrivateTrial:
    """What an objective sees of a trial: its parameters can be suggested, and nothing else."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        if name.startswith("suggest_") or name in ("params", "distributions"):
            return getattr(self._trial, name)
        why = _REFUSED.get(name, "only suggest_..., params and distributions are private")
        raise RefusedError(f"trial.{name} cannot be used in a private search: {why}")


def optimise(
    objective: Callable[[Any], Any],
    search: PrivateSearch,
    study: Study | None = None,
    *,
    simulation: bool = False,
) -> Winner:
    """Makes all runs of a private search by an objective of Optuna, and releases the best.

    Args:
      objective: (trial) -> the score, as the search's ``score`` reads it, or (score, outcome).
        ``TrialPruned`` and any other exception are failures: the run ranks below all others, and
        why stands in ``search.problems``. Ctrl-C stops the search.
      search: of ``PrivateSearch(suggested, ...)``: the objective suggests the candidates.
      study: with ``PrivateSampler``, no pruner and no trials; by default one in memory. Whoever
        reads its storage sees every candidate, and how many there are.
      simulation: as in ``PrivateSearch.release``.

    Returns:
      The winner; its candidate is the dictionary of parameters.

    Raises:
      InputError: for a study with another sampler, a pruner, or trials of its own; or an objective
        that does with its trial what no objective may, whatever the data: its run has failed.
    """
    search.check_simulation(simulation)
    if study is None:
        study = optuna.create_study(
            sampler=PrivateSampler(), pruner=NopPruner(), direction="maximize"
        )
    sampler = _checked(study)
    with search.interruptible():
        for run in search:
            trial = study.ask()
            sampler.draws[trial.number] = run.draw
            try:
                found = attempt(objective, PrivateTrial(trial), leaving=(RefusedError,))
            except RefusedError:
                search.tell(run, failed=True)
                raise
            search.take(run._replace(candidate=dict(trial.params)), *found)
            study.tell(trial, _TOLD)
    return search.release(simulation=simulation)


def suggested(draw: Draw) -> None:
    """The candidates of a search whose objective suggests its parameters as it runs."""


def _checked(study: Study) -> PrivateSampler:
    if not isinstance(study.sampler, PrivateSampler):
        raise InputError(
            f"the study's sampler is {type(study.sampler).__name__}, which looks at scores or has "
            "a seed of its own; give PrivateSampler()"
        )
    if not isinstance(study.pruner, NopPruner):
        raise InputError(
            f"the study's pruner is {type(study.pruner).__name__}, which compares runs with each "
            "other; give optuna.pruners.NopPruner()"
        )
    if study.get_trials(deepcopy=False):
        raise InputError(
            "the study has trials already: whoever enqueued or made them chose their candidates; "
            "give a study without any"
        )
    return study.sampler
