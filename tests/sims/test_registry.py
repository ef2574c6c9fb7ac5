"""Records of simulations: kept while they are true, renewed when anything changed."""

import pytest

from jaxsel.errors import InputError
from sims import registry


def test_sources_follow_imports_within_the_folder():
    found = registry._sources("renyi_logarithmic", {})
    assert {"renyi_logarithmic", "renyi_tallies", "gaussian_orders"} <= set(found)
    assert "registry" not in found


@pytest.mark.parametrize("name", registry.SIMS)
def test_every_simulation_has_its_module(name):
    module = registry._module(registry.SIMS[name])
    assert callable(module.run)


def test_a_record_is_reused_until_the_configuration_changes(tmp_path):
    told: list[str] = []
    settings = {"trials": 2000, "out": tmp_path, "say": told.append}
    first = registry.run("ps22-6", **settings)
    registry.run("ps22-6", **settings)
    registry.run("ps22-6", **settings, seed=1)
    assert ["up to date" in line for line in told] == [False, True, False]
    again = registry.run("ps22-6", **settings)
    for name, array in first.arrays.items():
        assert (again.arrays[name] == array).all()


def test_unknown_and_missing(tmp_path):
    with pytest.raises(InputError, match="no simulation 'x'; there are: ps22-1"):
        registry.run("x")
    with pytest.raises(InputError, match="run python -m sims ps22-6"):
        registry.load("ps22-6", tmp_path)


def test_records_on_data_sets_depend_on_the_folder_searched(monkeypatch):
    sims = [registry.SIMS["krw24-5"], registry.SIMS["ps22-6"]]
    monkeypatch.delenv("JAXSEL_DATA", raising=False)
    before = [registry._configuration(sim, 10, 0) for sim in sims]
    monkeypatch.setenv("JAXSEL_DATA", "/somewhere")
    after = [registry._configuration(sim, 10, 0) for sim in sims]
    assert before[0] != after[0]
    assert before[1] == after[1]
