"""Ids of 0.2.0 that another claim says now give the number that they gave, and a warning."""

import re

import pytest

from jaxsel.catalogue import find_claim, published_claims
from jaxsel.cli import main
from jaxsel.language import former_claims
from jaxsel.language.entry import guarantee

_NOISES = ("gumbel", "laplace", "exponential")
# What 0.2.0 gave at the defaults.
GAVE = {
    **{f"NM-{noise}-general-made": 1.0 for noise in _NOISES},
    **{f"NM-{noise}-monotone-made": 0.5 for noise in _NOISES},
    **{f"NM-{noise}-general-tight": 1.98 for noise in _NOISES},
    **{f"NM-{noise}-monotone-tight": 0.99 for noise in _NOISES},
    "CL-Lem3-sharp": 2.0979,
    "CL-Thm1-calls-attained": 4.995,
    "CL-Thm2-attained": 4.995,
    "KRW-Thm3.2-sharp-tight": 0.00039777127490119143,
    "LT-Thm4.1(a)-tight": 0.99,
    "SVT-AboveThreshold-tight": 1.0,
    "SVT-LSL-Alg1-monotone-tight": 1.0,
    "SVT-LSL-Alg1-tight": 1.0,
    "SVT-LSL-Alg4-monotone-tight": 1.0,
    "SVT-LSL-Alg4-tight": 1.75,
    "SVT-Sparse-tight": 1.0,
    "SVT-equal-noise-monotone-tight": 2.0,
}


def test_every_former_id_gives_its_number_and_warns_on_the_callers_line():
    assert set(GAVE) == set(former_claims.FORMER)
    listed = {claim.id for claim in published_claims()}
    for name, number in GAVE.items():
        with pytest.warns(
            DeprecationWarning, match=rf"{re.escape(name)} is \S+( \S+=\S+)? now"
        ) as told:
            claim = find_claim(name.lower())
        assert claim() == pytest.approx(number, rel=1e-12)
        assert told[0].filename == __file__
        assert name not in listed
        assert claim.id in listed
        assert claim.attained


def test_a_former_id_takes_its_parameters():
    with pytest.warns(DeprecationWarning, match="is NM-gumbel-monotone epsilon=1 now"):
        proven = guarantee("NM-gumbel-monotone-made", epsilon=0.5, made_for="monotone")
    assert proven == ("NM-gumbel-monotone", 0.5)


@pytest.mark.parametrize("command", ["claim", "show", "validate"])
def test_commands_say_the_id_of_today(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "SVT-LSL-Alg1-monotone-tight"])
    out, err = capsys.readouterr()
    assert stop.value.code in (None, 0)
    assert err == "jaxsel: SVT-LSL-Alg1-monotone-tight is SVT-LSL-Alg1-monotone scale=2 now\n"
    assert "SVT-LSL-Alg1-monotone" in out
    assert command == "validate" or "Attained: 0.999 of it on" in out.replace("\n", " ")
