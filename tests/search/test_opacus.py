"""The budget of a run of Opacus: what a plan pays for, and when it is spent."""

import sys
import types

import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.search.opacus import Budget, stop_at


class _Accountant:
    """As Opacus's accountants: a history that grows by steps."""

    def __init__(self):
        self.history = []

    def step(self, noise, rate, steps=1):
        self.history.append((noise, rate, steps))


class _Engine:
    def __init__(self):
        self.accountant = _Accountant()


def test_a_run_stops_after_the_steps_of_its_plan():
    engine = _Engine()
    budget = Budget(engine, [(4.0, 0.1, 30)])
    made = 0
    while not budget.spent:
        engine.accountant.step(4.0, 0.1)
        made += 1
    assert made == 30
    assert budget.left(4.0, 0.1) == 0
    engine.accountant.step(4.0, 0.1)
    with pytest.raises(InputError, match="has made 1 steps with noise_multiplier 4"):
        budget.spent  # noqa: B018


def test_more_noise_and_a_smaller_rate_are_paid_for_and_less_is_not():
    engine = _Engine()
    budget = Budget(engine, [(4.0, 0.1, 30), (1.0, 0.1, 5)])
    assert budget.left(4.0, 0.1) == 35  # the second phase pays for more noise, too
    assert (budget.left(2.0, 0.05), budget.left(0.9, 0.1), budget.left(4.0, 0.2)) == (5, 0, 0)
    engine.accountant.step(5.0, 0.1, 30)  # the first phase, which pays for nothing else
    assert budget.left(1.0, 0.1) == 5
    engine.accountant.step(1.0, 0.1, 5)
    assert budget.spent
    weak = _Engine()
    weak.accountant.step(0.5, 0.1)
    with pytest.raises(InputError, match="that its plan does not pay for"):
        Budget(weak, [(1.0, 0.1, 5)]).left(1.0, 0.1)
    for engine, plan in ((3, [(1.0, 0.1, 5)]), (_Engine(), []), (_Engine(), [(1.0, 2.0, 5)])):
        with pytest.raises(InputError):
            Budget(engine, plan)


@pytest.mark.parametrize("parts", [[35], [20, 15], [1] * 35])
def test_steps_are_paid_by_the_phase_that_pays_for_the_fewest_others(parts):
    engine = _Engine()
    budget = Budget(engine, [(1.0, 0.2, 5), (4.0, 0.2, 10), (4.0, 0.1, 30)])
    assert not budget.spent
    for steps in parts:
        engine.accountant.step(5.0, 0.1, steps)
    # 30 by the third phase, 5 by the second.
    left = [budget.left(*kind) for kind in ((4.0, 0.1), (4.0, 0.2), (1.0, 0.2), (2.0, 0.1))]
    assert left == [10, 10, 5, 5]
    engine.accountant.step(1.0, 0.2, 4)
    assert [budget.left(4.0, 0.2), budget.left(1.0, 0.1)] == [6, 1]
    engine.accountant.step(4.0, 0.2, 6)
    assert budget.spent
    engine.accountant.step(4.0, 0.15, 3)
    with pytest.raises(InputError, match="has made 3 steps with noise_multiplier 4"):
        budget.left(4.0, 0.2)


def test_a_plan_is_a_base_and_so_is_an_engine():
    plan = [(2.0, 0.1, 20)]
    text = "dp_sgd:noise_multiplier=2,sampling_probability=0.1,steps=20"
    expected = jaxsel.account(text, "geometric:mean=3", 1e-5, attain=False).epsilon
    engine = _Engine()
    engine.accountant.step(2.0, 0.1, 20)
    for base in (plan, engine):
        found = jaxsel.account(base, "geometric:mean=3", 1e-5, attain=False).epsilon
        assert found == pytest.approx(expected)


def test_an_object_that_knows_its_event_is_a_base():
    import dp_accounting

    event = dp_accounting.GaussianDpEvent(3.0)
    expected = jaxsel.account("gaussian:noise_multiplier=3", "geometric:mean=3", 1e-5)
    for plan in (
        types.SimpleNamespace(dp_event=event),
        types.SimpleNamespace(dp_event=lambda: event),
    ):
        found = jaxsel.account(plan, "geometric:mean=3", 1e-5)
        assert found.epsilon == pytest.approx(expected.epsilon, rel=1e-3)
    with pytest.raises(InputError, match="the dp_event of SimpleNamespace is a str"):
        jaxsel.guarantee_of(types.SimpleNamespace(dp_event="gaussian"))


def test_the_callback_stops_a_trainer(monkeypatch):
    module = types.ModuleType("lightning.pytorch")
    module.Callback = object
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", module)
    engine, trainer = _Engine(), types.SimpleNamespace(should_stop=False)
    callback = stop_at(Budget(engine, [(1.0, 0.5, 2)]))
    seen = []
    for batch in range(3):
        engine.accountant.step(1.0, 0.5)
        if batch < 2:
            callback.on_train_batch_end(trainer, None, {}, None, batch)
        seen.append(trainer.should_stop)
    assert seen == [False, True, True]
