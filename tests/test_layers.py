"""Imports run one way, and only the package goes into the wheel."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A room is a file or a folder of jaxsel; each may import those named.
HOST = {"errors", "domains", "default_delta", "printing", "base", "blas_threads"}
DEVICE = {"stream", "logarithm", "noise", "statistics", "look_up", "rows"}
STATING = {"checking", "statements", "papers", "entry", "intervals", "utility"}
THEORY = {"accounting.numerics", "accounting.single_run", "repetitions"}
ALLOWED = {
    "errors": set(),
    "default_delta": set(),
    "blas_threads": set(),
    "printing": set(),
    "progress": set(),
    "compiled": set(),
    "source_digest": set(),
    "stream": set(),
    "logarithm": set(),
    "look_up": set(),
    "rows": set(),
    "domains": {"errors"},
    "base": {"domains", "printing"},
    "noise": {"errors", "rows", "stream", "logarithm"},
    "statistics": HOST,
    "records": HOST,
    "tallies": HOST | {"intervals"},
    "key_use": {"stream"},
    "data": HOST,
    "pictures": HOST,
    "intervals": HOST,
    "audit_bounds": HOST | {"intervals"},
    "repetitions": HOST,
    "accounting.numerics": set(),
    "accounting.single_run": HOST | {"accounting.numerics"},
    "repetition_sampling": HOST
    | {"logarithm", "look_up", "noise", "stream", "repetitions"},
    "tables": HOST | {"look_up", "stream"},
    "checking": HOST,
    "statements": HOST,
    "papers": HOST | {"statements"},
    # It builds what samples from an exact law, and shows laws of K.
    "entry": HOST | {"tables", "repetitions", "utility"},
    "utility": set(),
    "hosts": {"errors"},
    "work": HOST | {"statistics", "tallies"},
    "engine": HOST
    | {"stream", "statistics", "records", "tallies", "progress", "source_digest", "entry",
       "hosts", "work"},
    # Who else does the work of an engine's call.
    "shards": HOST | {"engine", "hosts", "records", "tallies", "work"},
    "executors": HOST | {"engine", "hosts", "progress", "tallies", "work"},
    "families": HOST | DEVICE | STATING | THEORY | {"repetition_sampling"},
    "training": HOST
    | THEORY
    | {
        "audit_bounds", "data", "intervals", "noise", "progress", "records",
        "repetition_sampling", "stream", "families.tuning",
    },
    "catalogue": HOST | STATING | THEORY | {"families", "engine", "auditing"},
    "auditing": HOST
    | {"engine", "audit_bounds", "accounting.single_run", "entry", "catalogue",
       "key_use", "records"},
    "plan_checks": HOST
    | {"accounting.single_run", "auditing", "engine", "families.tuning", "intervals",
       "repetition_sampling", "tallies"},
    # What is known of one release, and how many fit a budget.
    "release_curves": HOST
    | {"accounting.single_run", "entry", "families.noisy_max", "families.top_k"},
    "release_plans": HOST
    | {"accounting.numerics", "accounting.single_run", "catalogue", "entry",
       "release_curves"},
    # Draws, and finds what a theorem says.
    "reports": HOST | THEORY | {"catalogue", "families.tuning", "pictures"},
    "validation": HOST | {"catalogue", "compiled"},
    "measuring": HOST | {"catalogue", "validation"},
    "sweeps": HOST
    | THEORY
    | {"auditing", "catalogue", "engine", "entry", "families.tuning", "intervals",
       "progress", "records", "shards", "source_digest", "tallies", "utility", "work"},
}  # fmt: skip
# Families that a family builds on.
FAMILIES = {
    "noisy_max": set(),
    "sparse_vector": set(),
    "choosing": set(),
    "tuning": set(),
    "private_training": {"tuning"},
    "top_k": {"noisy_max"},
    "thresholds": {"tuning"},
    "ridge_regression": {"tuning"},
    "selection_and_test": {"tuning"},
    "score_selection": {"tuning", "noisy_max"},
    "amplification": {"tuning", "sparse_vector"},
    "query_release": {"selection_and_test", "top_k"},
    "repetitive_sparse_vector": {"selection_and_test", "sparse_vector"},
    "multiplicative_weights": {"selection_and_test", "sparse_vector"},
    "percentile": {"tuning", "thresholds", "selection_and_test", "sparse_vector"},
}
# Imports that run back up, inside a function, each with its reason.
DEFENDED = {
    # An audit that simulates is put to the test where the claim about it stands.
    ("families.tuning", "auditing"),
    ("families.multiplicative_weights", "engine"),
    # Claims about training are put to the test on what trains.
    ("families.private_training", "training"),
    # What runs is put to the test where the claims about it stand.
    ("families.tuning", "engine"),
    ("families.ridge_regression", "engine"),
    ("families.query_release", "engine"),
    # The catalogue lists the software's self-checks, which audit its mechanisms.
    ("catalogue", "auditing"),
}
# Anything may be used by the outermost rooms.
OUTER = {
    "cli",
    "bench",
    "public",
    "composition",
    "delta_cost",
    "tuning_words",
    "grid",
    "reporting",
    "__init__",
    "__main__",
}
NO_JAX = (
    "accounting",
    "data",
    "repetitions",
    "intervals",
    "audit_bounds",
    "records",
    "pictures",
    "reports",
    "base",
    "domains",
    "statements",
    "papers",
    "entry",
    "checking",
    "printing",
    "utility",
)


def _names(nodes) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module in ("jaxsel", "jaxsel.families"):
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
            found.add(node.module)
    return found


def imports(path: Path) -> set[str]:
    return _names(ast.walk(ast.parse(path.read_text())))


def imports_at_once(path: Path) -> set[str]:
    """Without those inside functions."""
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    return _names(node for node in ast.walk(tree) if id(node) not in inside)


def room_of(module: str) -> str:
    """The room of a dotted name such as jaxsel.families.tuning.bases."""
    parts = module.split(".")
    if parts[1] in ("families", "accounting") and len(parts) > 2:
        return ".".join(parts[1:3])
    return parts[1]


def room(path: Path) -> str:
    return room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))


FILES = sorted((ROOT / "jaxsel").rglob("*.py"))


def _allowed(here: str) -> set[str]:
    if not here.startswith("families."):
        return ALLOWED[here]
    below = {f"families.{name}" for name in FAMILIES[here.removeprefix("families.")]}
    return ALLOWED["families"] | below


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_run_one_way(path):
    here = room(path)
    names = imports(path)
    outside = {name.split(".")[0] for name in names} & {"sims", "figures", "tests"}
    # Only the command line may look for figures, to list them.
    assert outside <= ({"figures", "sims"} if here == "cli" else set())
    if here in OUTER or path.name == "__init__.py":
        return
    used = {room_of(name) for name in names if name.startswith("jaxsel.")} - {
        here,
        "accounting",
        "__version__",
    }
    if here == "catalogue":
        used = {"families" if name.startswith("families") else name for name in used}
    back = {name for name in used if (here, name) in DEFENDED}
    assert used - back <= _allowed(here)
    at_once = {room_of(name) for name in imports_at_once(path) if "jaxsel." in name}
    assert not at_once & back
    if here.split(".")[0] in NO_JAX:
        assert not any(name.split(".")[0] == "jax" for name in names)


def test_families_build_on_each_other_without_circles():
    for name, below in FAMILIES.items():
        reached, waiting = set(), set(below)
        while waiting:
            other = waiting.pop()
            reached.add(other)
            waiting |= FAMILIES[other] - reached
        assert name not in reached
    folders = {path.name for path in (ROOT / "jaxsel" / "families").iterdir()}
    assert {name for name in folders if not name.startswith("_")} == set(FAMILIES)


def test_what_families_declare_imports_no_jax():
    """The catalogue, with every claim and entry, in a fresh process."""
    code = (
        "import sys; from jaxsel import catalogue as c; "
        "c.published_claims(); c.mechanisms(); c.errata(); "
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_figures_never_simulate():
    for path in (ROOT / "figures").glob("*.py"):
        used = {n for n in imports(path) if n.startswith("jaxsel.")}
        assert not any(n.startswith("jaxsel.engine") for n in used), path.name


def test_only_the_package_goes_into_the_wheel():
    import tomllib

    from setuptools import find_packages

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    include = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    packages = find_packages(str(ROOT), include=include)
    assert {name.split(".")[0] for name in packages} == {"jaxsel"}
    assert "jaxsel.accounting" in packages
