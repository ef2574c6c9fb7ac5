"""The budget of a run that Opacus trains: it stops before it exceeds what the search pays for.

A search is told beforehand what one run guarantees. With Opacus that is a plan in the form of its
own history, (noise_multiplier, sample_rate, steps) by phase, which is a base as it is::

    plan = [(1.1, 0.01, 1000)]
    search = jaxsel.PrivateSearch(candidates, base=plan, ...)
    for run in search:
        ...
        budget = Budget(engine, plan)
        while not budget.spent:
            ...  # a step of training

The engine must sample as Opacus does by default (Poisson), since the plan says so.
"""

import importlib
from collections.abc import Sequence
from typing import Any

from jaxsel.accounting.single_run.base_text import opacus_phases
from jaxsel.host.errors import InputError

__all__ = ["Budget", "stop_at"]

Phase = tuple[float, float, int]


class Budget:
    """Compares what an accountant of Opacus has recorded with a plan.

    A step is paid for by a phase of the plan with no more noise and no smaller sampling rate: it
    is then dominated by a step of that phase.
    """

    def __init__(self, engine: Any, plan: Sequence[Phase]) -> None:
        """Begins with what the accountant has recorded so far.

        Args:
          engine: a PrivacyEngine of Opacus, or an accountant.
          plan: (noise_multiplier, sample_rate, steps) by phase.

        Raises:
          InputError: if one of the two is not that.
        """
        accountant = getattr(engine, "accountant", engine)
        if not hasattr(accountant, "history"):
            raise InputError(
                f"engine is a {type(engine).__name__}; it must be a PrivacyEngine of Opacus, or "
                "an accountant"
            )
        self._accountant, self.plan = accountant, opacus_phases(plan)

    def left(self, noise_multiplier: float, sample_rate: float) -> int:
        """How many steps of this kind the plan still pays for.

        Raises:
          InputError: if the run has made a step already that the plan does not pay for.
        """
        left = [steps for _, _, steps in self.plan]
        for noise, rate, steps in self._made():
            for place in self._payers(noise, rate):
                paid = min(left[place], steps)
                left[place] -= paid
                steps -= paid
            if steps:
                raise InputError(
                    f"the run has made {steps} steps with noise_multiplier {noise:g} and "
                    f"sample_rate {rate:g} that its plan does not pay for"
                )
        return sum(left[place] for place in self._payers(noise_multiplier, sample_rate))

    def _made(self) -> tuple[Phase, ...]:
        history = self._accountant.history
        return opacus_phases(history) if history else ()

    def _payers(self, noise: float, rate: float) -> list[int]:
        """The phases that pay for a step, those that pay for the fewest other steps first."""
        paying = [
            place
            for place, (least, most, _) in enumerate(self.plan)
            if least <= noise and rate <= most
        ]
        return sorted(paying, key=lambda place: (-self.plan[place][0], self.plan[place][1]))

    @property
    def spent(self) -> bool:
        """Whether the plan pays for no further step like the last one; False before the first."""
        history = self._made()
        return bool(history) and self.left(*history[-1][:2]) == 0


def stop_at(budget: Budget) -> Any:
    """A callback of Lightning that ends a training after the last step that the budget pays for."""
    base: Any = importlib.import_module("lightning.pytorch").Callback

    class StopAtBudget(base):
        """Stops the trainer when the budget is spent."""

        def on_train_batch_end(self, trainer: Any, *_: object, **__: object) -> None:
            trainer.should_stop = trainer.should_stop or budget.spent

    return StopAtBudget()
