"""Imports run one way, and only the package goes into the wheel."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Rooms by the first part of the module's path below jaxsel; each may import those named.
HOST = {"errors", "base"}
ALLOWED = {
    "errors": set(),
    "base": set(),
    "progress": set(),
    "stream": set(),
    "logarithm": set(),
    "noise": HOST | {"stream", "logarithm"},
    "statistics": HOST,
    "records": HOST,
    "data": HOST,
    "intervals": HOST,
    "audit_bounds": HOST | {"intervals"},
    "repetitions": HOST,
    "accounting": HOST | {"repetitions"},
    "repetition_sampling": HOST | {"noise", "stream", "repetitions"},
    "tables": HOST | {"stream"},
    "engine": HOST | {"stream", "statistics", "records", "progress"},
    "mechanisms": HOST
    | {"noise", "stream", "repetitions", "repetition_sampling", "accounting"},
    "audit": HOST | {"engine", "audit_bounds", "accounting"},
    "training": HOST
    | {
        "accounting", "audit_bounds", "data", "intervals", "noise", "progress", "records",
        "repetitions", "repetition_sampling", "stream",
    },
    "claims": HOST
    | {
        "accounting", "repetitions", "mechanisms", "audit", "intervals", "catalogue",
        "engine", "audit_bounds", "statistics", "tables",
    },
    "catalogue": HOST
    | {"claims", "mechanisms", "repetitions", "accounting", "tables"},
    "validate": HOST,
}  # fmt: skip
# The rooms of jaxsel/accounting, likewise; the accountant and the package use them all.
ACCOUNTING = {
    "numerics": set(),
    "bases": {"numerics"},
    "attained": {"bases"},
    "tuning": {"numerics", "bases", "attained"},
    "noisy_max": {"numerics", "bases"},
    "top_k": {"bases"},
    "scores": {"numerics", "bases", "top_k"},
    "selection_and_test": {"numerics", "bases"},
    "sparse_vector": {"numerics", "bases", "selection_and_test"},
    "percentile": {"numerics", "sparse_vector"},
    "examples": {"sparse_vector"},
    "multiplicative_weights": {"numerics", "selection_and_test", "sparse_vector"},
    "propose_test_release": {"bases", "tuning"},
}
# Anything may be used by the outermost rooms.
OUTER = {"cli", "bench", "__init__", "__main__"}
NO_JAX = (
    "accounting",
    "data",
    "repetitions",
    "intervals",
    "audit_bounds",
    "records",
    "base",
)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "jaxsel":
                found |= {f"jaxsel.{alias.name}" for alias in node.names}
            found.add(node.module)
    return found


def room(path: Path) -> str:
    first = path.relative_to(ROOT / "jaxsel").parts[0]
    return first.removesuffix(".py")


FILES = sorted((ROOT / "jaxsel").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_run_one_way(path):
    here = room(path)
    names = imports(path)
    outside = {name.split(".")[0] for name in names} & {"sims", "figures", "tests"}
    # Only the command line may look for figures, to list them.
    assert outside <= ({"figures"} if here == "cli" else set())
    if here in OUTER:
        return
    used = {name.split(".")[1] for name in names if name.startswith("jaxsel.")}
    assert used - {here} <= ALLOWED[here]
    if here in NO_JAX:
        assert not any(name.split(".")[0] == "jax" for name in names)


ROOMS = ROOT / "jaxsel" / "accounting"


def test_accounting_has_the_rooms_that_are_listed():
    assert {path.parent.name for path in ROOMS.glob("*/__init__.py")} == set(ACCOUNTING)
    assert {path.name for path in ROOMS.glob("*.py")} == {
        "__init__.py",
        "accountant.py",
    }


@pytest.mark.parametrize("inner", ACCOUNTING)
def test_arrows_between_accounting_rooms_run_one_way(inner):
    used = {
        name.split(".")[2]
        for path in (ROOMS / inner).glob("*.py")
        for name in imports(path)
        if name.startswith("jaxsel.accounting")
    }
    assert used - {inner} <= ACCOUNTING[inner]


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
