"""Statements are found by their ids, in the order of their papers."""

import pytest

from jaxsel.catalogue import errata, find_claim, published_claims, remarks
from jaxsel.language.base import Claim, Erratum, Remark
from jaxsel.language.declared import find_published, held_called


def test_theorem_2_comes_before_theorem_10_of_its_paper():
    ids = [claim.id for claim in published_claims()]
    assert ids.index("PS-Thm2") < ids.index("PS-Thm6")
    order = [ids.index(name) for name in ("CL-Thm1", "CL-Thm2", "CL-Thm6", "CL-Thm11")]
    assert order == sorted(order)
    starts = [name.partition("-")[0] for name in ids]
    # Its statements stand together.
    first, count = starts.index("PS"), starts.count("PS")
    assert starts[first : first + count] == ["PS"] * count


def test_a_claim_is_found_by_its_id_in_any_case():
    assert find_published("ps-thm2") is find_published("PS-Thm2") is find_claim("PS-Thm2")
    assert find_published("PS-Thm0") is None
    assert [one.id for one in held_called("ps-thm2")] == ["PS-Thm2"]


@pytest.mark.parametrize(
    ("found", "kind"), [(published_claims, Claim), (errata, Erratum), (remarks, Remark)]
)
def test_each_list_has_statements_of_its_kind(found, kind):
    assert len(found()) > 3
    assert all(isinstance(one, kind) for one in found())


def test_an_erratum_names_the_claims_that_are_wrong_and_those_that_are_true():
    erratum = next(one for one in errata() if one.id == "E-PS-1")
    rows = [[name, "printed"] for name in erratum.refuted]
    assert erratum.summary().rows == rows + [[name, "true"] for name in erratum.corrected]
    assert erratum.corrected


def test_a_false_claim_says_so_and_a_true_one_does_not():
    false = next(claim for claim in published_claims() if not claim.holds)
    true = find_claim("PS-Thm2")
    assert str(false.status) in false.summary().sentence
    assert true.summary().sentence.rstrip(". ").endswith(true.told.rstrip(". "))
