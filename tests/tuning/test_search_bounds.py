"""Bounds on a search: each is one block, offered where it applies, and found by itself."""

import dataclasses
import functools
import inspect
import itertools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxsel
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, _no_check
from jaxsel.repetitions import parse
from jaxsel.tuning import accountant
from jaxsel.tuning.drawn import read_drawn
from jaxsel.tuning.proofs import lacking, proofs
from jaxsel.tuning.search_bounds import (
    ENVELOPE,
    PROFILE,
    PURE,
    RENYI,
    Proof,
    Search,
    _check_declared,
    applicable,
    bounds_by_name,
    search_bounds,
)
from tests.cli.test_cli import run, run_json

BOUNDS = pytest.mark.parametrize("stated", search_bounds(), ids=lambda each: each.id)
SMALL = Budget(trials=20_000, cases=2)


@BOUNDS
def test_half_of_a_bound_is_refuted_by_its_check(stated):
    right = stated.evaluate

    @functools.wraps(right)
    def half(**given):
        return 0.5 * right(**given)

    object.__setattr__(stated, "evaluate", half)
    try:
        assert stated.check(SMALL).outcome == "refuted"
    finally:
        object.__setattr__(stated, "evaluate", right)


# --- where each applies -----------------------------------------------------------------

_BASES = {
    "pure": "pure:epsilon=1",
    "pairs": "randomised_response:epsilon=1",
    "Gaussian": "gaussian:noise_multiplier=4",
    "Renyi": "zcdp:rho=0.1",
    "failing": "approximate:epsilon=1,delta=1e-6",
}
_LAWS = {
    "negative binomial": "geometric:mean=10",
    "Poisson": "poisson:mean=10",
    "binomial": "binomial:count=20,mean=10",
    "beta-binomial": "beta_binomial:count=20,gamma=1",
    "fixed": "point_mass:count=5",
    "table": "pmf:1=0.2,3=0.5,11=0.3",
}
# Theorem -> bases and laws for which it is stated; "known" is a base whose profile is.
_EVERY = set(_BASES)
_KNOWN = {"pure", "pairs", "Gaussian", "failing"}
_ANY = set(_LAWS)
_STATED = {
    "CL-Thm1": ({"pure", "pairs"}, {"beta-binomial"}),
    "CL-Thm1-approximate": (_KNOWN, {"beta-binomial"}),
    "KRW-Cor5.3": ({"pure", "pairs"}, {"negative binomial"}),
    "KRW-Thm5.2": (_KNOWN, {"negative binomial"}),
    "KRW-Thm5.7": (_KNOWN, {"binomial"}),
    "KRW-Cor5.8": (_KNOWN, {"Poisson"}),
    "PS-Thm2": (_EVERY, {"negative binomial"}),
    "PS-Thm2-tight": (_EVERY, {"negative binomial"}),
    "PS-Thm6": (_EVERY, {"Poisson"}),
    "PS-Thm6-profile": (_KNOWN, {"Poisson"}),
    "KRW-N2": (_KNOWN, _ANY),
    "PS-Lem7": (_KNOWN, _ANY),
    "JX-Envelope": (_EVERY, _ANY),
    "JX-Priced": (_EVERY, _ANY),
    "composition-renyi": (_EVERY, {"fixed"}),
    "composition": (_EVERY, {"binomial", "beta-binomial", "fixed", "table"}),
}


@pytest.mark.parametrize("base", _BASES)
@pytest.mark.parametrize("law", _LAWS)
def test_a_bound_is_offered_where_it_is_stated_and_nowhere_else(base, law):
    guarantee, repetitions = parse_base(_BASES[base]), parse(_LAWS[law])
    offered = applicable(Search(guarantee, repetitions))
    for name, (bases, laws) in _STATED.items():
        assert (name in offered) == (base in bases and law in laws), name
    # Those that it offers are those that an account lists, and of the others it says why.
    assert set(offered) <= set(proofs(guarantee, repetitions))
    missing = lacking(guarantee, repetitions)
    assert set(missing) == set(bounds_by_name()) - set(offered)
    assert all(missing.values())


def test_where_every_bound_is_stated_is_written_above():
    assert set(_STATED) == set(bounds_by_name())


@pytest.mark.parametrize(
    ("field", "words", "users"),
    [
        (
            "profile",
            "privacy profile",
            "CL-Thm1-approximate KRW-Cor5.8 KRW-N2 KRW-Thm5.2 KRW-Thm5.7 PS-Thm6-profile",
        ),
        ("tradeoff", "trade-off function", "KRW-N2 PS-Lem7"),
    ],
)
def test_a_bound_is_offered_where_what_it_uses_of_the_base_is_known(field, words, users):
    """One field alone may be unknown, of a base that somebody makes."""
    base = parse_base(_BASES["pairs"])._replace(**{field: None})
    searches = [Search(base, parse(text)) for text in _LAWS.values()]
    needed = f"a base with a known {words}"
    found = {
        name
        for name, each in bounds_by_name().items()
        if needed in [each.lacks(search) for search in searches]
    }
    assert found == set(users.split())


_ENDLESS = parse("geometric:mean=10")._replace(mean=math.inf)


@pytest.mark.parametrize(
    ("name", "base", "law", "needed"),
    [
        ("composition", _BASES["pure"], parse("pmf:0=1"), "a K that is bounded"),
        ("composition", _BASES["pairs"], parse("point_mass:count=64"), None),
        ("composition", _BASES["pairs"], parse("point_mass:count=65"), "a largest K of at most 64"),
        ("composition", _BASES["Gaussian"], parse("point_mass:count=65"), None),
        ("KRW-Thm5.7", _BASES["pairs"], parse("binomial:count=5,probability=0.999"), None),
        ("KRW-Thm5.7", _BASES["pairs"], parse("binomial:count=5,probability=1"), "a probability"),
        ("JX-Envelope", _BASES["pairs"], _ENDLESS, "a law of K of finite mean"),
        ("JX-Priced", _BASES["pairs"], _ENDLESS, "a law of K of finite mean"),
    ],
)
def test_ends_of_the_range_of_a_bound(name, base, law, needed):
    lacks = bounds_by_name()[name].lacks(Search(parse_base(base), law))
    assert lacks is None if needed is None else lacks.startswith(needed)


@BOUNDS
def test_a_claim_is_refused_where_it_is_not_offered(stated):
    for base in _BASES.values():
        for law in _LAWS.values():
            needed = stated.lacks(Search(parse_base(base), parse(law)))
            if needed is not None:
                with pytest.raises(InputError, match=re.escape(f"{stated.id} needs {needed}")):
                    stated.evaluate(base=base, law=law)


@BOUNDS
def test_a_bound_needs_candidates_that_are_drawn_as_it_says(stated):
    base, law = (
        stated.parameters[name].read(name, stated.parameters[name].default)
        for name in ("base", "law")
    )
    assert stated.lacks(Search(base, law)) is None
    other = Search(base, law, drawn=read_drawn("adaptively:n=3"))
    assert stated.lacks(other) == "candidates that are drawn independently"


@BOUNDS
def test_a_claim_is_asked_at_one_place(stated):
    values = {"order": 3.0, "delta": 1e-6, "epsilon": 1.0}
    places = [name for name in values if name in stated.parameters]
    for two in itertools.combinations(places, 2):
        with pytest.raises(InputError, match=f"{' and '.join(two)} are given; give one of them"):
            stated.evaluate(**{name: values[name] for name in two})


@BOUNDS
def test_a_place_at_which_nothing_is_stated_is_refused(stated):
    # A profile is stated below epsilon 0, too: there the outcome "no run" counts.
    least = -50.0 if stated.states is PROFILE else -1e-9
    outside = {"order": (0.5, 1.0), "delta": (-1e-9, 1.0), "epsilon": (least, 700.0)}
    for name in outside.keys() & stated.parameters.keys():
        for value in outside[name]:
            with pytest.raises(InputError, match=f"{name} is"):
                stated.evaluate(base=_BASES["pairs"], **{name: value})


def test_at_delta_0_a_profile_proves_nothing():
    base, law = parse_base("gaussian:noise_multiplier=4"), parse("poisson:mean=10")
    assert "KRW-Cor5.8" not in lacking(base, law)
    assert lacking(base, law, 0.0)["KRW-Cor5.8"] == "a delta of at least 1e-290"


# --- what each states -------------------------------------------------------------------


def _laplace_delta(level):
    """Of Laplace noise of scale 2, sensitivity 1."""
    return 1.0 - math.exp(0.5 * (level - 0.5)) if level < 0.5 else 0.0


_ETA, _GAMMA, _RHO = 3.0, 0.26, 0.1
_MEAN = _ETA * (1.0 - _GAMMA) / (_GAMMA * (1.0 - _GAMMA**_ETA))
_ODDS = (1.0 - _GAMMA) / _GAMMA
_LEVELS = [1e-5 * k for k in range(50_001)]
_LAW = f"tnb:eta={_ETA},gamma={_GAMMA}"


def _theorem_5_2():
    shift = min(math.log(math.exp(one) + _ODDS * _laplace_delta(one)) for one in _LEVELS)
    return _MEAN * _laplace_delta(2.3 - (_ETA + 1.0) * shift)


def _theorem_5_7(count=4, p=0.3):
    def share(level):
        return p * _laplace_delta(level)

    least = next(one for one in _LEVELS if math.exp(one) >= 1.0 + share(one) / (1.0 - p))
    shift = (count - 1) * math.log(1.0 + p * (math.exp(least) - 1.0) + share(least))
    return count * p * _laplace_delta(0.5 - shift)


def _renyi_at_12(middle):
    return 12.0 * _RHO + math.log(_MEAN) / 11.0 + (1.0 + _ETA) * middle


def _tight(order):
    """For b - 1 = order, a grid of which is fine enough: it is flat at the least."""
    return math.log1p(_ODDS * math.exp(order * (order + 1.0) * _RHO)) / (order + 1.0)


@pytest.mark.parametrize(
    ("claim", "base", "law", "at", "number"),
    [
        ("CL-Thm1", "pure:epsilon=0.5", "beta_binomial:count=100,gamma=3", {}, 2.5),
        (
            "CL-Thm1-approximate",
            "approximate:epsilon=0.5,delta=1e-8",
            "beta_binomial:count=100,gamma=3",
            {"epsilon": 2.5},
            1e-6,
        ),
        ("PS-Cor3", "pure:epsilon=0.5", _LAW, {}, 2.5),
        ("PS-D1-composition", "zcdp:rho=0.1", "point_mass:count=5", {"order": 8.0}, 4.0),
        (
            "PS-Thm2",
            "zcdp:rho=0.1",
            _LAW,
            {"order": 12.0},
            _renyi_at_12(2.0 * math.sqrt(_RHO * math.log(1.0 / _GAMMA)) - _RHO),
        ),
        (
            "PS-Thm2-tight",
            "zcdp:rho=0.1",
            _LAW,
            {"order": 12.0},
            _renyi_at_12(min(_tight(1e-3 * k) for k in range(1, 20_000))),
        ),
        ("KRW-Thm5.2", "laplace:noise_scale=2", _LAW, {"epsilon": 2.3}, _theorem_5_2()),
        (
            "KRW-Thm5.7",
            "laplace:noise_scale=2",
            "binomial:count=4,probability=0.3",
            {"epsilon": 0.5},
            _theorem_5_7(),
        ),
        (
            "KRW-Cor5.8",
            "laplace:noise_scale=2",
            "poisson:mean=2",
            {"epsilon": 0.8},
            2.0 * _laplace_delta(0.8 - 2.0 * _laplace_delta(0.0)),
        ),
    ],
)
def test_its_number_is_the_papers_formula(claim, base, law, at, number):
    """At parameters of K that are no default and no special case."""
    assert 0.0 < number < 20.0
    assert jaxsel.claim(claim).evaluate(base=base, law=law, **at) == pytest.approx(number, rel=1e-4)


# --- what is said of each ---------------------------------------------------------------


def test_words_and_labels_are_each_bounds_own():
    for field in ("words", "label", "shown"):
        texts = [getattr(each, field) for each in search_bounds()]
        assert all(texts)
        assert len(set(texts)) == len(texts), field


_KEYS = {"PS": "Papernot & Steinke", "KRW": "Koskela", "CLNSS": "Cohen"}


@BOUNDS
def test_a_label_names_the_theorem_of_its_source(stated):
    """A figure that draws Theorem 5.2 under the label of Theorem 5.7 is false."""
    names = f"{stated.source} {' '.join(stated.aliases)}"
    numbers = re.findall(r"\d[\d.]*", stated.label.split(", δ̂")[0])
    assert all(re.search(rf"(?<![\d.]){re.escape(each)}(?![\d.])", names) for each in numbers)
    for key, authors in _KEYS.items():
        if re.search(rf"\b{key}\b", stated.label):
            assert authors in stated.source or any(each.startswith(key) for each in stated.aliases)
            assert numbers
            assert authors in stated.words or stated.aliases


_FAMILIES = {
    "poisson": r"Poisson",
    "beta_binomial": r"beta-binomial|gamma\) epsilon at delta/tau",
    "binomial": r"(?<!negative )(?<!beta-)binomial",
    "truncated_negative_binomial": r"negative binomial",
}


@BOUNDS
def test_words_and_label_say_what_the_bound_uses(stated):
    """Not the law of K, or the kind, of another bound of the same paper."""
    for family, pattern in _FAMILIES.items():
        assert not re.search(pattern, stated.words) or stated.family == family
    kinds = {"Renyi": RENYI, "RDP": RENYI, "pure": PURE, "envelope": ENVELOPE}
    for text in (stated.words, stated.label):
        for said, kind in kinds.items():
            assert said not in text or stated.states is kind
        assert ("priced" in text) == (stated.id == "JX-Priced")
    # Two bounds of one theorem differ in what they take of the base, or in a step.
    assert ("tight" in stated.label) == (stated.id == "PS-Thm2-tight")
    assert ("last inequality" in stated.words) == (stated.id == "PS-Thm2-tight")
    if stated.states is RENYI and stated.family == "poisson":
        base = parse_base(_BASES["Renyi"])
        profile = stated.lacks(Search(base, parse("poisson:mean=10"))) is not None
        assert ("the profile" in stated.words) is profile
        assert ("δ̂" in stated.label) is not profile


@BOUNDS
def test_a_claim_is_found_by_the_name_that_accounts_show(stated):
    assert jaxsel.claim(stated.shown) is stated


def test_show_gives_the_law_and_the_base(capsys):
    code, rows = run_json(capsys, "show", "KRW-Thm5.7")
    assert code == 0
    assert {"base", "law", "delta", "epsilon"} <= {each["name"] for each in rows[0]["parameters"]}


@pytest.mark.parametrize(
    "stated",
    [each for each in search_bounds() if each.former is not None],
    ids=lambda each: each.id,
)
def test_parameters_of_0_2_0_give_the_number_with_a_warning(stated):
    former = stated.former
    given = {name: float(value) for name, value in former.defaults.items() if _is_number(value)}
    texts = {name: value for name, value in former.defaults.items() if not _is_number(value)}
    own = {"base": former.base, "law": former.law}
    today = {name: text.format(**former.defaults) for name, text in own.items()}
    with pytest.warns(DeprecationWarning, match=f"{stated.id} takes base and law"):
        value = stated.evaluate(**given, **texts)
    assert value == pytest.approx(stated.evaluate(**today), rel=1e-12)


# What 0.2.0 answered where nothing was given.
_NUMBERS_OF_0_2_0 = {
    "PS-Thm2": 2.178135429471973,
    "PS-Thm6": 2.7630920810466435,
    "PS-Lem7": 5.274484,
    "PS-D1-composition": 4.608577143339375,
    "PS-Cor3": 2.0,
    "KRW-Thm5.2": 0.3565414760347524,
    "KRW-Thm5.7": 0.03526765587996785,
    "KRW-Cor5.8": 0.03500750232858586,
    "KRW-N2": 0.29608654400600587,
    "CL-Thm1": 2.5,
    "CL-Thm1-approximate": 1e-4,
    "JX-Envelope": 0.00010625859750169439,
    "JX-Priced": 0.04930306327712497,  # 0.2.0: 0.0493225, by another mesh
}


@pytest.mark.parametrize("name", _NUMBERS_OF_0_2_0)
def test_a_name_that_both_versions_have_gives_the_same_number(name):
    claim = jaxsel.claim(name)
    assert claim.evaluate() == pytest.approx(_NUMBERS_OF_0_2_0[name], rel=1e-6)
    given = {key: value for key, value in claim.former.defaults.items() if key not in ("law",)}
    only = [key for key in given if key not in claim.parameters]
    if only:
        with pytest.warns(DeprecationWarning, match="takes base and law"):
            same = claim.evaluate(**{only[0]: given[only[0]]})
        assert same == pytest.approx(claim.evaluate(), rel=1e-12)


def test_a_former_parameter_beside_todays_is_refused():
    for given in ({"rho": 0.1, "law": "geometric:mean=3"}, {"eta": 1.0, "base": "zcdp:rho=1"}):
        with pytest.raises(InputError, match="are given; give"):
            jaxsel.claim("PS-Thm2").evaluate(**given)


def _is_number(text):
    return re.fullmatch(r"[\d.e+-]+", text) is not None


# --- the account ------------------------------------------------------------------------

_ASKED = ("--base", "gaussian:noise_multiplier=4", "--repetitions", "geometric:mean=10")


def test_account_says_why_others_do_not_apply(capsys):
    code, found = run_json(capsys, "account", *_ASKED, "--delta", "1e-6", "--all")
    assert code == 0
    listed = {each["theorem"] for each in found["bounds"]}
    assert listed | set(found["lacking"]) == set(bounds_by_name())
    assert not listed & set(found["lacking"])
    assert found["lacking"]["PS-Thm6"] == "K ~ poisson"
    assert found["lacking"]["KRW-Cor5.3"] == "a base of pure epsilon"
    code, out, _ = run(capsys, "account", *_ASKED, "--epsilon", "2", "--all")
    assert code == 0
    assert re.search(r"KRW-Thm5.7.*K ~ binomial.*profile, binomial", out)
    cost = jaxsel.account("gaussian:noise_multiplier=4", "geometric:mean=10")
    assert cost.lacking == found["lacking"]


@pytest.mark.parametrize("asked", [{"delta": 0.0}, {"epsilon": 1.0}])
@pytest.mark.parametrize(
    ("base", "law"),
    [
        ("gaussian:noise_multiplier=4", "geometric:mean=100"),
        ("approximate:epsilon=0.1,delta=1e-5", "poisson:mean=0.5"),
    ],
)
def test_every_bound_proves_something_or_lacks_something(capsys, base, law, asked):
    """A bound that applies, and proves nothing at this delta, is not left out."""
    ((name, value),) = asked.items()
    words = ("--base", base, "--repetitions", law, f"--{name}", str(value), "--all")
    _, found = run_json(capsys, "account", *words)
    told = {each["theorem"] for each in found["bounds"]}
    assert not told & set(found["lacking"])
    named = {each.removeprefix("PS-Lem20+") for each in told | set(found["lacking"])}
    assert named == set(bounds_by_name())


@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_a_bound_that_gives_no_number_proves_nothing(monkeypatch, number):
    broken = Proof(lambda delta: number, lambda epsilon: math.nan)
    right = accountant.proofs
    base, law = parse_base("gaussian:noise_multiplier=4"), parse("geometric:mean=10")
    monkeypatch.setattr(
        accountant,
        "proofs",
        lambda base, law, **asked: {**right(base, law, **asked), "JX-Envelope": broken},
    )
    epsilons = accountant.proven_epsilons(base, law, 1e-6)
    assert epsilons[0].theorem == "JX-Priced"
    assert epsilons[-1][:2] == (math.inf, "JX-Envelope")
    deltas = accountant.proven_deltas(base, law, 2.0)
    assert deltas[0].theorem == "JX-Priced"
    assert (1.0, "JX-Envelope") in [each[:2] for each in deltas]


def test_a_bound_is_refused_that_nobody_checks_or_that_has_anothers_name():
    one = jaxsel.claim("PS-Thm6")
    others = {each.id: each for each in search_bounds()}
    twin = dataclasses.replace(one, id="JX-twin")
    object.__setattr__(twin, "check", one.check)
    with pytest.raises(TypeError, match="there is a bound PS-Thm6 already"):
        _check_declared(twin, others)
    with pytest.raises(TypeError, match="has no check"):
        _check_declared(dataclasses.replace(one, check=_no_check), {})
    _check_declared(one, others)


def test_account_without_all_says_nothing_of_others(capsys):
    _, found = run_json(capsys, "account", *_ASKED, "--delta", "1e-6")
    assert "lacking" not in found
    _, out, _ = run(capsys, "account", *_ASKED, "--delta", "1e-6")
    assert "prove nothing" not in out


def test_all_is_for_one_search(capsys):
    for more in (
        ("--times", "2"),
        ("--beside", "laplace:noise_scale=10"),
        ("--drawn", "grid:n=10"),
    ):
        code, _, err = run(capsys, "account", *_ASKED, "--all", *more)
        assert code == 2
        assert "--all is for one search" in err


def test_an_account_loads_no_check():
    """What a check needs is imported inside it: 89 modules of ours when this was written."""
    code = (
        "import sys, jaxsel; jaxsel.account('gaussian:noise_multiplier=4', 'geometric:mean=10');"
        "print('\\n'.join(name for name in sys.modules if name.split('.')[0] == 'jaxsel'))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [name for name in loaded if "claims" in name.split(".")]
    assert len(loaded) <= 96


# --- a new one --------------------------------------------------------------------------

_NEW = '''
"""A bound that nobody has stated yet."""

from jaxsel.language.papers import JX
from jaxsel.tuning.bounds.poisson import theorem_6_of_profiles
from jaxsel.tuning.search_bounds import RENYI, Needs, bound


@bound(JX, "JX-Tomorrow", "an example", RENYI,
       needs=Needs(law="poisson", uses=("profile",)), words="what is proved tomorrow",
       label="tomorrow", at=("pure:epsilon=1", "poisson:mean=10"))
def tomorrow(search):
    """For K ~ Poisson the divergence is at most so much."""
    return theorem_6_of_profiles.formula(search)


@tomorrow.bounds()
def exact_laws(budget):
    from jaxsel.tuning.claims.searches import renyi_cases

    return renyi_cases(budget, "poisson")
'''
_ASK = """
import json, sys, tempfile
from pathlib import Path
import jaxsel
from jaxsel.catalogue import document, published_claims
from jaxsel.catalogue.validation import validate
from jaxsel.language.base import Budget, _no_check

assert jaxsel.__file__.startswith(sys.argv[1]), jaxsel.__file__
cost = jaxsel.account("pure:epsilon=1", "poisson:mean=10", 1e-6)
other = jaxsel.account("pure:epsilon=1", "geometric:mean=10", 1e-6)
found = validate("JX-Tomorrow", Budget(20_000, 6))[0]
with tempfile.TemporaryDirectory() as folder:
    document.write(Path(folder))
    page = any("JX-Tomorrow" in path.read_text("utf-8") for path in Path(folder).glob("*.md"))
print(json.dumps({
    "account": [each.statement for each in cost.bounds if each.theorem == "JX-Tomorrow"],
    "lacking": other.lacking["JX-Tomorrow"],
    "list": "JX-Tomorrow" in [each.id for each in published_claims()],
    "value": jaxsel.claim("jx-tomorrow").evaluate(base="pure:epsilon=1", law="poisson:mean=3"),
    "verdict": found.verdict.outcome, "evaluated": found.verdict.evaluated,
    "notices": found.verdict.notices, "page": page,
}))
"""


def _with_a_new_file(folder: Path) -> None:
    """The package as it is, by links, but with one more module of bounds."""
    package = Path(inspect.getfile(jaxsel)).parent
    bounds = package / "tuning" / "bounds"
    for source in (package, package / "tuning", bounds):
        target = folder / source.relative_to(package.parent)
        target.mkdir()
        for entry in source.iterdir():
            if entry not in (package / "tuning", bounds) and entry.name != "__pycache__":
                (target / entry.name).symlink_to(entry)
    (folder / "jaxsel" / "tuning" / "bounds" / "tomorrow.py").write_text(_NEW, encoding="utf-8")


def test_a_new_bound_is_one_file(tmp_path):
    _with_a_new_file(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", _ASK, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    value = jaxsel.claim("PS-Thm6-profile").evaluate(base="pure:epsilon=1", law="poisson:mean=3")
    assert found.pop("value") == value
    assert found.pop("evaluated") > 50
    assert found == {
        "account": ["what is proved tomorrow"],
        "lacking": "K ~ poisson",
        "list": True,
        "verdict": "holds",
        "notices": True,
        "page": True,
    }
