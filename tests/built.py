"""``python -m tests.built``: what would be released, built, installed alone, and tried.

Wheel and source distribution are built into dist/. Each is installed without extras, in an
environment of its own, for each Python of those that are supported and found here: the wheel with
the newest dependencies and with the lowest, the source with the newest. A smoke test runs there,
away from the checkout.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
_MOST = 1.5e6  # bytes of the wheel
_SMOKE = """
import pathlib
import jaxsel, jaxsel.testing

assert "site-packages" in jaxsel.__file__, jaxsel.__file__
cost = jaxsel.account("gaussian:noise_multiplier=4", "geometric:mean=10", 1e-6)
assert 1.0 < cost.epsilon < 3.0
assert not jaxsel.audit("noisy_max", trials=10_000).refuted
jaxsel.testing.assert_private(
    lambda rng, data, n: len(data) + rng.laplace(size=n),
    [0, 1], [0, 1, 1], relation="add_or_remove_one", epsilon=1.0, trials=20_000,
)
search = jaxsel.PrivateSearch(
    [0.1, 0.2], base="pure:epsilon=0.5", repetitions="geometric:mean=2",
    score=jaxsel.scores.public(),
)
for run in search:
    search.tell(run, -run.candidate)
search.release()
assert not pathlib.Path(jaxsel.__file__).parent.parent.joinpath("sims").exists()
print("jaxsel", jaxsel.__version__, "works alone")
"""


def pythons() -> list[Path]:
    """The supported Pythons that are found, by the classifiers of the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [
        found[1]
        for text in project["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))
    ]
    places = [shutil.which(f"python{version}") for version in versions]
    works = [Path(place) for place in places if place and _ok([place, "-c", "pass"])]
    return works or [Path(sys.executable)]


def _ok(command: Iterable[str | Path], **options) -> bool:
    listed = [str(part) for part in command]
    return subprocess.run(listed, capture_output=True, **options).returncode == 0


def _run(command: Iterable[str | Path], **options) -> None:
    # A checkout on the path would be tried in place of what is installed.
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], check=True, env=alone, **options)


def _lowest() -> list[str]:
    from tests.versions import requirements

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    alone = project | {"optional-dependencies": {"test": [], "train": [], "data": []}}
    return requirements("lowest", alone)


def _try(python: Path, file: Path, pinned: list[str]) -> None:
    """Installs a built file in an environment of its own and runs the smoke test there."""
    with tempfile.TemporaryDirectory() as folder:
        _run([python, "-m", "venv", folder])
        there = Path(folder) / "bin" / "python"
        _run([there, "-m", "pip", "install", "--quiet", file, *pinned], cwd=folder)
        _run([there, "-c", _SMOKE], cwd=folder)
        _run([Path(folder) / "bin" / "jaxsel", "--version"], cwd=folder)


def main() -> int:
    """Builds, weighs, installs and tries; returns 1 where something fails."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        build = Path(folder) / "bin" / "python"
        _run([build, "-m", "pip", "install", "--quiet", "build>=1.2"])
        _run([build, "-m", "build", "--outdir", dist, ROOT], stdout=subprocess.DEVNULL)
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    weight = wheel.stat().st_size
    print(f"{wheel.name}: {weight / 1e6:.2f} MB; {source.name}")
    if weight > _MOST:
        print(f"the wheel weighs more than {_MOST / 1e6:g} MB")
        return 1
    for python in pythons():
        for name, file, pinned in (
            ("wheel, newest dependencies", wheel, []),
            ("wheel, lowest dependencies", wheel, _lowest()),
            ("source, newest dependencies", source, []),
        ):
            if pinned and python != pythons()[0]:
                continue  # the lowest versions have no wheels for every Python
            print(f"{python.name}: {name}", flush=True)
            try:
                _try(python, file, pinned)
            except subprocess.CalledProcessError as error:
                print(f"failed: {' '.join(map(str, error.cmd[:2]))} ended with {error.returncode}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
