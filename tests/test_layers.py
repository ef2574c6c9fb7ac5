"""Imports run one way, and only the package goes into the wheel."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A room is a folder of jaxsel; each may import those named. What runs trials is a room of
# its own inside the kernel: samplers do not know it.
RUNNING = {"engine", "work", "hosts", "compiled"}
STATING = {"host", "language"}
SINGLE_RUN = {"accounting.numerics", "accounting.single_run", "repetitions"}
THEORY = SINGLE_RUN | {"tuning"}
ALLOWED = {
    "host": set(),
    "language": {"host"},
    "repetitions": STATING,
    "accounting.numerics": set(),
    "accounting.single_run": STATING | {"accounting.numerics"},
    "data": STATING,
    # The accountant.
    "tuning": STATING | SINGLE_RUN | {"pictures"},
    "pictures": STATING | {"repetitions"},
    "kernel": STATING | {"repetitions", "pictures"},
    "running": STATING | {"kernel"},
    "auditing": STATING | {"accounting.single_run", "kernel", "pictures", "running"},
    # Who else does the work of an engine's call.
    "shards": STATING | {"kernel", "running"},
    "families": STATING | THEORY | {"kernel", "pictures"},
    "training": STATING | THEORY | {"auditing", "data", "kernel"},
    # Searches that can be seen through, to try what trains; but what declares runs below.
    "families.private_training": STATING | THEORY | {"data", "kernel", "training"},
    "catalogue": STATING | THEORY | {"auditing", "families", "kernel", "running"},
    # Draws, and finds what a theorem says.
    "reports": STATING | THEORY | {"auditing", "catalogue", "pictures"},
    "questions": STATING
    | THEORY
    | {
        "auditing",
        "catalogue",
        "families.noisy_max",
        "families.private_tuning",
        "families.top_k",
        "kernel",
        "reports",
        "running",
    },
    # A private search of anybody's training, and what it proves.
    "search": STATING | THEORY | {"data", "questions", "reports", "training"},
    "sweeps": STATING
    | THEORY
    | {"auditing", "catalogue", "families.private_tuning", "kernel", "running", "shards"},
}
# Families that a family builds on.
FAMILIES = {
    "noisy_max": set(),
    "sparse_vector": set(),
    "choosing": set(),
    "private_tuning": set(),
    "private_training": set(),
    "top_k": {"noisy_max"},
    "thresholds": {"private_tuning"},
    "ridge_regression": set(),
    "selection_and_test": {"private_tuning"},
    "score_selection": {"private_tuning", "noisy_max"},
    "amplification": {"sparse_vector"},
    "query_release": {"selection_and_test", "top_k"},
    "repetitive_sparse_vector": {"selection_and_test", "sparse_vector"},
    "multiplicative_weights": {"selection_and_test", "sparse_vector"},
    "percentile": {"private_tuning", "thresholds", "selection_and_test", "sparse_vector"},
}
# Imports that run back up, inside a function, each with its reason.
DEFENDED = {
    # An audit that simulates is put to the test where the claim about it stands.
    ("families.private_tuning", "auditing"),
    # What runs is put to the test where the claims about it stand.
    ("families.multiplicative_weights", "running"),
    ("families.private_training", "search"),
    ("families.private_tuning", "running"),
    ("families.ridge_regression", "running"),
    ("families.query_release", "running"),
    # The catalogue lists the software's self-checks of plans, too.
    ("catalogue", "questions"),
}
# Anything may be used by the outermost rooms; the doors are other names of modules.
OUTER = {"cli", "__init__", "__main__", "testing"}
DOORS = {"base", "noise", "statistics", "stream", "families.tuning"}
# What needs no JAX does not import it, not even inside a function.
NO_JAX = ("accounting", "data", "host", "language", "pictures", "repetitions", "reports", "tuning")


def _names(nodes) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module in ("jaxsel", "jaxsel.families", "jaxsel.kernel"):
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
    """The room of a dotted name such as jaxsel.families.private_tuning.bases."""
    parts = module.split(".")
    if parts[1] in ("families", "accounting") and len(parts) > 2:
        return ".".join(parts[1:3])
    if parts[1] == "kernel" and parts[2:3] and parts[2] in RUNNING:
        return "running"
    return parts[1]


def room(path: Path) -> str:
    return room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))


FILES = sorted((ROOT / "jaxsel").rglob("*.py"))


def _allowed(here: str) -> set[str]:
    if not here.startswith("families."):
        return ALLOWED[here]
    below = {f"families.{name}" for name in FAMILIES[here.removeprefix("families.")]}
    return ALLOWED.get(here, ALLOWED["families"]) | below


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_run_one_way(path):
    here = room(path)
    names = imports(path)
    outside = {name.split(".")[0] for name in names} & {"sims", "figures", "benchmarks", "tests"}
    # Only the command line may look beside the package, for what lies in a checkout.
    assert outside <= ({"figures", "sims", "benchmarks"} if here == "cli" else set())
    if here in OUTER | DOORS or path.name == "__init__.py":
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


# Rooms of the whole house are folders: these arrows run up, for what ``DEFENDED`` says.
UP = {("families", "search"), ("catalogue", "questions")}
HOUSE = ("figures", "sims", "benchmarks")


def _house_room(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[1:2]) or "__init__" if parts[0] == "jaxsel" else parts[0]


def test_the_house_has_few_floors_and_no_big_room(capsys):
    """A room stands one floor above the highest of those it uses, inside functions, too."""
    files = [*FILES, *(path for name in HOUSE for path in (ROOT / name).rglob("*.py"))]
    used: dict[str, set[str]] = {}
    lines: dict[str, int] = {}
    for path in files:
        here = _house_room(".".join(path.relative_to(ROOT).with_suffix("").parts))
        lines[here] = lines.get(here, 0) + len(path.read_text("utf-8").splitlines())
        there = {name for name in imports(path) if name.split(".")[0] in ("jaxsel", *HOUSE)}
        used.setdefault(here, set()).update(
            _house_room(name)
            for name in there
            # Inside the package "from jaxsel import repetitions" means that room alone.
            if _module_exists(name) and (name != "jaxsel" or here in HOUSE)
        )
    for here, there in used.items():
        there.discard(here)
    up = {(here, there) for here, there in UP if there in used[here]}
    for here, there in up:
        used[here].remove(there)
    floors: dict[str, int] = {}
    for here in graphlib.TopologicalSorter(used).static_order():  # CycleError names a circle
        floors[here] = 1 + max((floors[there] for there in used[here]), default=0)
    share = max(lines.values()) / sum(lines.values())
    with capsys.disabled():
        print(
            f"\n{len(floors)} rooms, {max(floors.values())} floors, {len(up)} arrows up; "
            f"the biggest room has {share:.0%} of the lines"
        )
    assert up == UP  # an arrow that is gone leaves the list
    assert max(floors.values()) <= 16
    assert share <= 0.33


def test_files_import_each_other_without_circles():
    """Inside functions, too; a package is what its names come from."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FILES}
    above = {}
    for path in FILES:
        here = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if path.name != "__init__.py":
            above[here] = {name for name in _taken_from(path) if name in names} - {here}
    graphlib.TopologicalSorter(above).prepare()  # CycleError names a circle


def _taken_from(path: Path) -> set[str]:
    """Files that the names a file imports are defined in, as far as imports tell."""
    found, waiting = (
        set(),
        [
            (node.module, alias.name)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        ],
    )
    while waiting:
        module, name = waiting.pop()
        folder = ROOT.joinpath(*module.split("."))
        inner = folder / name / "__init__.py"
        if (folder / f"{name}.py").exists():
            found.add(f"{module}.{name}")
        elif inner.exists():  # a package: all that it hands on
            found |= _taken_from(inner)
        elif (folder / "__init__.py").exists():
            tree = ast.parse((folder / "__init__.py").read_text())
            waiting += [
                (node.module, alias.name)
                for node in tree.body
                if isinstance(node, ast.ImportFrom) and node.module
                for alias in node.names
                if (alias.asname or alias.name) == name
            ]
        else:
            found.add(module)
    return found


def test_families_build_on_each_other_without_circles():
    for name, below in FAMILIES.items():
        reached, waiting = set(), set(below)
        while waiting:
            other = waiting.pop()
            reached.add(other)
            waiting |= FAMILIES[other] - reached
        assert name not in reached
    folders = {path.parent.name for path in (ROOT / "jaxsel" / "families").glob("*/__init__.py")}
    assert folders == set(FAMILIES)


def test_what_families_declare_imports_no_jax():
    """The catalogue, with every claim and entry, in a fresh process."""
    code = (
        "import sys; from jaxsel import catalogue as c; "
        "c.published_claims(); c.mechanisms(); c.errata(); "
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_figures_never_simulate():
    """They say what is simulated, and the runner does it; speed settings may be named."""
    for path in (ROOT / "figures").glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        engine = [
            node
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module == "jaxsel.kernel.engine"
        ]
        taken = {alias.name for node in engine for alias in node.names}
        assert taken <= {"Performance"}, path.name
        others = _names(node for node in nodes if node not in engine)
        assert "jaxsel.kernel.engine" not in others, path.name


def test_only_the_package_goes_into_the_wheel():
    import tomllib

    from setuptools import find_packages

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    include = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    packages = find_packages(str(ROOT), include=include)
    assert {name.split(".")[0] for name in packages} == {"jaxsel"}
    assert "jaxsel.accounting" in packages


def _module_exists(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def _instrumented(name: str) -> bool:
    """Whether the import hook of the tests loads a module."""
    from importlib.util import find_spec

    spec = find_spec(name)
    return spec is not None and "jaxtyping" in type(spec.loader).__module__


def test_shapes_are_checked_in_every_room_that_draws():
    from tests.conftest import CHECKED_ROOMS, samplers

    for name in (*CHECKED_ROOMS, *samplers()):
        assert _module_exists(name), name
        assert _instrumented(name), name
    families = {name.split(".")[2] for name in samplers()}
    assert families == set(FAMILIES)  # each has something that draws
    assert "jaxsel.families.noisy_max.noisy_max" in samplers()
    assert not any(".claims" in name or "laws" in name for name in samplers())


def test_a_wrong_shape_in_a_sampler_is_seen(monkeypatch):
    import jax.numpy as jnp

    from jaxsel.families.top_k import exponential
    from jaxsel.kernel import stream

    key, levels = stream.make_key(1), jnp.zeros(3, jnp.float32)
    given = (key, levels, jnp.int32(1), jnp.ones(3, bool), "tail")
    assert exponential.noisy_top(*given).shape == (3,)
    monkeypatch.setattr(exponential, "largest", lambda *parts: jnp.ones((3, 1), bool))
    with pytest.raises(TypeError, match=r"of jaxsel\.families\.top_k\.exponential"):
        exponential.noisy_top(*given)


def test_lists_of_modules_name_what_there_is():
    from jaxsel.host import own_code, source_digest

    for name in (
        *own_code.OURS,
        *source_digest._PRESENTATION,
        *(f"jaxsel.kernel.{name}" for name in RUNNING),
        *(
            f"jaxsel.{name}"
            for name in {*ALLOWED, *NO_JAX, *OUTER, *DOORS}.union(*DEFENDED, *ALLOWED.values())
            if name != "running"
        ),
    ):
        assert _module_exists(name.removesuffix(".__init__")), name
    rooms = {room(path) for path in FILES}
    # A room that none of the lists has would be allowed nothing and tested by nobody.
    known = {name.split(".")[0] for name in (*ALLOWED, *OUTER, *DOORS)}
    assert {name.split(".")[0] for name in rooms} == known | {"accounting"}
    for here, there in DEFENDED:
        assert any(
            room_of(name) == there or room_of(name).split(".")[0] == there
            for path in FILES
            if room(path) == here
            for name in imports(path)
            if name.startswith("jaxsel.")
        ), (here, there)


def test_settings_of_tools_name_what_there_is():
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    listed = [
        *settings["pyright"]["include"],
        *settings["pytest"]["ini_options"]["testpaths"],
        *settings["ruff"]["lint"].get("per-file-ignores", {}),
        *settings["ruff"].get("exclude", []),
        *(f"jaxsel/{name}" for name in settings["setuptools"]["package-data"]["jaxsel"]),
    ]
    for name in listed:
        assert list(ROOT.glob(name)), name
    assert "jaxtyping-packages" not in str(settings["pytest"])  # it is in conftest
