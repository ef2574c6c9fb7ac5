"""Former names of modules: ``jaxsel.families.tuning`` is ``jaxsel.tuning`` since 0.3.

The modules here that sampled private searches are in ``jaxsel.families.private_tuning`` now. For
one release, imports by the former names still work, with a warning.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from jaxsel.host.former_names import warn

# It makes a package of this module; being empty, it leaves all imports from it to ``_Moved``.
__path__: list[str] = []

_SAMPLERS = ("base_settings", "bases", "entries", "noised_bases", "private_tuning")


def _today(name: str) -> str:
    """The full name today of a module that was here, such as "bounds.renyi"."""
    if name == "claims.repetitions.best_of_runs":
        return "jaxsel.families.private_tuning.claims.best_of_runs"
    return f"jaxsel.{'families.private_tuning' if name in _SAMPLERS else 'tuning'}.{name}"


class _Moved(MetaPathFinder, Loader):
    """Finds and loads today's module for an import by its former name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        today = _today(fullname.removeprefix(f"{__name__}."))
        if importlib.util.find_spec(today) is None:
            return None
        warn(fullname, today)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_today(spec.name.removeprefix(f"{__name__}.")))
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own  # the import system has put the former name there


# Before the finder of files, which would load a second copy of what a moved package holds.
sys.meta_path.insert(0, _Moved())
