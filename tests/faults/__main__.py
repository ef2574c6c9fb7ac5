"""``python -m tests.faults``: plants every fault, one at a time, and says who sees it."""

import argparse
import json
import queue
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.looking import Seen, look, unexpected
from tests.faults.planting import Fault, faults, rooms, sandbox

# Of all faults, those that must be seen.
_SHARE = 0.95


def _chosen(arguments: argparse.Namespace) -> list[Fault]:
    found = [fault for room in arguments.room or rooms() for fault in faults(room)]
    return [fault for fault in found if arguments.name.lower() in fault.name.lower()]


def _look_at_all(chosen: list[Fault], folder: Path, jobs: int) -> Iterator[Seen]:
    """Each fault in one of ``jobs`` copies of the tree."""
    trees: queue.Queue[Path] = queue.Queue()
    for number in range(jobs):
        trees.put(sandbox(folder / str(number)))

    def tried(fault: Fault) -> Seen:
        tree = trees.get()
        try:
            return look(fault, tree)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(tried, chosen)


def _healthy(tree: Path, planted: Iterable[Fault]) -> bool:
    """Without a fault every claim is as expected, or the rest means nothing."""
    claims = sorted({claim for fault in planted for claim in fault.claims})
    wrong, trouble = unexpected(tree, claims)
    if wrong or trouble:
        print(f"Without any fault: {', '.join(wrong) or trouble} not as expected.")
    return not (wrong or trouble)


def _report(found: list[Seen]) -> int:
    by_claim = sum(bool(one.claims) for one in found)
    by_test = sum(bool(one.tests) for one in found)
    trouble = sum(bool(one.trouble) for one in found)
    missed = [one.fault for one in found if not one.seen]
    print(f"\n{len(found)} faults: {by_claim} seen by a claim, {by_test} by a test alone, "
          f"{trouble} by a crash; {len(missed)} by nobody.")  # fmt: skip
    for fault in missed:
        print(f"  {fault.room}: {fault.name}: {fault.survives or 'UNEXPLAINED'}")
    enough = len(missed) <= (1.0 - _SHARE) * len(found)
    explained = all(fault.survives for fault in missed)
    return 0 if enough and explained else 1


def main() -> int:
    """Plants, looks, reports; exit status 1 if too few are seen or one is unexplained."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--room", action="append", choices=rooms())
    parser.add_argument("--name", default="", help="faults with this in their name")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at once")
    parser.add_argument("--json", type=Path, help="write who saw what to this file")
    parser.add_argument("--list", action="store_true", help="name the faults alone")
    parser.add_argument("--no-baseline", action="store_true",
                        help="do not validate without a fault first")  # fmt: skip
    arguments = parser.parse_args()
    chosen = _chosen(arguments)
    if arguments.list:
        for fault in chosen:
            print(f"{fault.room}: {fault.name} ({fault.file})")
        return 0
    found = []
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        if not arguments.no_baseline and not _healthy(
            sandbox(folder / "right"), chosen
        ):
            return 1
        for one in _look_at_all(chosen, folder, max(1, arguments.jobs)):
            found.append(one)
            mark = "seen  " if one.seen else "MISSED"
            print(f"{len(found)}/{len(chosen)} {mark} {one.fault.room}: "
                  f"{one.fault.name} -- {one.by}", flush=True)  # fmt: skip
    if arguments.json:
        rows = [one.fault._asdict() | {"by": one.by, "seen": one.seen} for one in found]
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return _report(found)


if __name__ == "__main__":
    sys.exit(main())
