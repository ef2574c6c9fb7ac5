"""A training of Opacus in a private search: the walk of the documents, to its guarantee."""

import re
from pathlib import Path

import pytest
import torch
from opacus import PrivacyEngine

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.search.opacus import Budget

# Opacus advises against its plain generator, which is what tests have.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
DOCUMENT = Path(__file__).parents[2] / "docs" / "searching.md"
PLAN = [(2.0, 0.05, 100)]


def _walk():
    text = DOCUMENT.read_text(encoding="utf-8")
    (block,) = re.findall(r"## Opacus\n.*?```\n(.*?)```", text, re.DOTALL)
    return block


def _data(size, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn((size, 5), generator=generator)
    return x, (x[:, 0] + x[:, 1] > 0).long()


def test_the_walk_of_the_documents_ends_in_a_guarantee(monkeypatch):
    train, valid = _data(400, 0), _data(300, 1)
    made = []
    tell = jaxsel.PrivateSearch.tell

    def noted(self, run, score=None, outcome=None, **given):
        made.append((run.candidate, score))
        return tell(self, run, score, outcome, **given)

    monkeypatch.setattr(jaxsel.PrivateSearch, "tell", noted)
    names = {"train_x": train[0], "train_y": train[1], "valid_x": valid[0], "valid_y": valid[1]}
    for _ in range(20):  # K is 1 more often than not
        made.clear()
        exec(_walk(), names)
        winner = names["winner"]
        if len(made) >= 2:
            break
    assert len(made) >= 2
    # What is released is one of the runs, whose noisy score is near its own.
    assert winner.candidate in {candidate for candidate, _ in made}
    assert min(abs(winner.score - score) for _, score in made) < 60.0
    assert max(score for _, score in made) > 200  # it learns
    assert set(winner.outcome) == {"_module.weight", "_module.bias"}
    expected = jaxsel.account(PLAN, "geometric:mean=5", winner.guarantee.costs[0][1].delta)
    assert winner.guarantee.costs[0][1].epsilon == pytest.approx(expected.epsilon, rel=0.05)
    assert "training" in str(winner.guarantee)


def test_an_engine_stops_at_its_budget_and_records_what_the_plan_says():
    x, y = _data(200, 2)
    model = torch.nn.Linear(5, 2)
    engine = PrivacyEngine()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=20)
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=loader,
        noise_multiplier=3.0,
        max_grad_norm=1.0,
    )
    budget = Budget(engine, [(3.0, 0.1, 25)])
    while not budget.spent:
        for a, b in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(a), b).backward()
            optimizer.step()
            if budget.spent:
                break
    assert [tuple(one) for one in engine.accountant.history] == [(3.0, 0.1, 25)]
    assert budget.left(3.0, 0.1) == 0
    base = jaxsel.guarantee_of(engine)
    assert base.name == jaxsel.guarantee_of([(3.0, 0.1, 25)]).name
    with pytest.raises(InputError, match="does not pay for"):
        Budget(engine, [(3.0, 0.1, 24)]).left(3.0, 0.1)
