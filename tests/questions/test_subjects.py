"""A question takes its subject as a name, as an entry, with its input, or as it is."""

import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.language.papers import paper_of

SCORES = "3,2,2"


def test_simulate_and_audit_take_a_name_an_entry_and_what_was_built():
    own = jaxsel.simulate(jaxsel.mechanism("noisy_max"), trials=500, seed=3, progress=False)
    for subject in ("noisy_max", jaxsel.mechanisms.noisy_max, "NM"):
        found = jaxsel.simulate(subject, trials=500, seed=3, progress=False)
        assert (found.values == own.values).all()
    built = jaxsel.mechanisms.noisy_max(scores=SCORES)
    moved = jaxsel.simulate(built, trials=500, seed=3, progress=False)
    assert (moved.values != own.values).any()
    with pytest.raises(InputError, match="comes with its input"):
        jaxsel.simulate("noisy_max", [1.0, 2.0], trials=5)
    lower = jaxsel.audit("noisy_max", trials=2000, progress=False).bound.lower
    assert jaxsel.audit(jaxsel.mechanism("noisy_max"), trials=2000).bound.lower == lower


def test_a_sweep_of_what_was_built_has_its_settings_as_defaults():
    built = jaxsel.mechanisms.noisy_max(scores=SCORES, noise="laplace")
    epsilons = {"epsilon": [0.5, 1.0]}
    found = jaxsel.sweep(built, epsilons, trials=400, progress=False)
    given = {"scores": [SCORES], "noise": "laplace", **epsilons}
    named = jaxsel.sweep("noisy_max", given, trials=400, progress=False)
    assert (found["success"].values == named["success"].values.ravel()).all()
    defaults = jaxsel.sweep(jaxsel.mechanisms.noisy_max, epsilons, trials=400, progress=False)
    assert (found["success"].values != defaults["success"].values).any()


def test_a_plan_of_what_was_built_keeps_its_settings_but_the_noise():
    built = jaxsel.mechanisms.noisy_max(noise="laplace", epsilon=0.3)
    found = jaxsel.plan_releases(built, epsilon=1, releases=10)
    named = jaxsel.plan_releases("noisy_max", epsilon=1, releases=10, settings={"noise": "laplace"})
    assert found.found == named.found
    assert found.found != jaxsel.plan_releases("noisy_max", epsilon=1, releases=9).found
    alone = jaxsel.from_law(built.mechanism)
    with pytest.raises(InputError, match="found by its name"):
        jaxsel.plan_releases(alone, epsilon=1)


def test_every_mechanism_has_one_address():
    listed = jaxsel.mechanisms()
    assert len({entry.name for entry in listed}) == len(listed) >= 60
    for entry in listed:
        assert getattr(jaxsel.mechanisms, entry.name) is entry
    assert set(dir(jaxsel.mechanisms)) == {entry.name for entry in listed}
    with pytest.raises(AttributeError, match="did you mean noisy_max"):
        _ = jaxsel.mechanisms.noisy_maxx
    assert "Release the candidate" in str(jaxsel.mechanisms.noisy_max)


def test_claims_of_a_paper_and_of_a_kind():
    for key in ("LT", "PS", "CL", "KRW", "ZW"):
        found = jaxsel.claims(paper=key.lower())
        assert found
        assert {getattr(paper_of(claim.source), "key", None) for claim in found} == {key}
    every = jaxsel.claims()
    kinds = [jaxsel.claims(kind=kind) for kind in ("privacy", "utility", "identity")]
    assert sum(map(len, kinds)) == len(every)
    with pytest.raises(InputError, match="privacy, utility, identity"):
        jaxsel.claims(kind="private")
    with pytest.raises(InputError, match="there is no paper"):
        jaxsel.claims(paper="XY")


def test_an_exact_law_by_name_and_of_what_was_built():
    built = jaxsel.mechanism("noisy_max", scores=SCORES)
    by_name = jaxsel.law("noisy_max", scores=SCORES)
    assert (jaxsel.law(built).probabilities == by_name.probabilities).all()
    assert by_name.probabilities[1] == pytest.approx(by_name.probabilities[2], rel=1e-12)
    with pytest.raises(InputError, match="comes with its input"):
        jaxsel.law(built, scores="1,2")
    with pytest.raises(InputError, match="without an input"):
        jaxsel.law(built.mechanism)
    with pytest.raises(InputError, match="no exact law"):
        jaxsel.law(built._replace(mechanism=built.mechanism._replace(law=None)))


def test_show_finds_each_kind_and_all_of_one_name():
    assert jaxsel.show("ps-cor3") is jaxsel.claim("PS-Cor3")
    assert jaxsel.show("geometric:mean=10").mean == 10.0
    assert "Printed:" in str(jaxsel.show("E-PS-1"))
    assert jaxsel.show("gaussian:noise_multiplier=2").epsilon(1e-6) > 1.0
    assert set(jaxsel.show("CL-Thm7")) == {
        jaxsel.mechanisms.choosing_mechanism,
        jaxsel.claim("CL-Thm7"),
    }
    with pytest.raises(InputError, match="nothing is called"):
        jaxsel.show("nobody")


def test_mechanisms_are_listed_called_and_named_alike():
    assert list(jaxsel.mechanisms) == list(jaxsel.mechanisms())
    said = str(jaxsel.mechanisms)
    assert said.startswith(f"{len(jaxsel.mechanisms())} mechanisms: ")
    assert all(entry.name in said for entry in jaxsel.mechanisms())
    with pytest.raises(AttributeError, match="no mechanism is called _noisy_max"):
        _ = jaxsel.mechanisms._noisy_max


def test_claims_of_a_paper_that_are_of_a_kind_are_both():
    both = jaxsel.claims(paper="PS", kind="privacy")
    of_paper, of_kind = jaxsel.claims(paper="PS"), jaxsel.claims(kind="privacy")
    assert set(both) == set(of_paper) & set(of_kind)
    assert 0 < len(both) < min(len(of_paper), len(of_kind))


def test_what_is_shown_by_a_figures_name_is_what_is_listed_of_it():
    (figure,) = (one for one in jaxsel.show("ps22-2") if getattr(one, "kind", "") == "figure")
    assert figure.thing["id"] == "ps22-2"
    assert jaxsel.show("tnb:eta=1,mean=3").mean == pytest.approx(3.0)
