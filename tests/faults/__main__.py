"""``python -m tests.faults``: plants faults one at a time, and reports who notices each."""

import argparse
import json
import queue
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.drawing import as_fault, drawn, elsewhere, room_of
from tests.faults.looking import Answer, Seen, claims_say, look, tests_reach
from tests.faults.planting import ROOT, Fault, digest, faults, rooms, sandbox
from tests.faults.reaching import Reached, read

# Share of all faults that must be noticed.
_SHARE = 0.95
# Rooms whose faults are drawn; any folder of the package is one.
PARTS = ("search", "training", "auditing", "questions", "sweeps", "kernel")


def _chosen(arguments: argparse.Namespace) -> list[Fault]:
    found = [fault for room in arguments.room or rooms() for fault in faults(room)]
    return [fault for fault in found if arguments.name.lower() in fault.name.lower()]


def _drawn(arguments: argparse.Namespace, tree: Path) -> list[Fault] | None:
    """Faults drawn in each room, with the tests to ask; None if a test fails without a fault."""
    found = []
    for room in arguments.room or ():
        reached = None if arguments.list else _reached(room, tree, arguments.no_baseline)
        if isinstance(reached, Answer):
            print(f"Without any fault: {reached.noticed or reached.trouble}.")
            return None
        for file, text, change in drawn(room, arguments.random, arguments.seed):
            tests = reached.asked(file, change.lines, arguments.seconds) if reached else ()
            fault = as_fault(room, file, text, change, tests)
            if arguments.name.lower() in fault.name.lower():
                found.append(fault)
    return found


def _reached(room: str, tree: Path, as_last_time: bool) -> Reached | Answer:
    """Which functions each test of a room runs; the test that fails if one does."""
    # Kept beside compiled programs, which git ignores.
    kept = ROOT / ".jax_cache" / f"reached-{room.replace('/', '-')}.jsonl"
    if not (as_last_time and kept.exists()):
        kept.unlink(missing_ok=True)
        near = ROOT / "tests" / room
        while not list(near.glob("test_*.py")):
            near = near.parent
        files = [near.relative_to(ROOT).as_posix(), *elsewhere(room)]
        answer = tests_reach(tree, files, kept)
        if answer != Answer():
            kept.unlink(missing_ok=True)
            return answer
    return read(kept)


def _look_at_all(chosen: list[Fault], folder: Path, jobs: int) -> Iterator[Seen]:
    """Tries each fault in one of ``jobs`` copies of the tree."""
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
    """Whether every claim is as expected without a fault; otherwise no result means anything."""
    claims = sorted({claim for fault in planted for claim in fault.claims})
    found = claims_say(tree, claims) if claims else Answer()
    if found != Answer():
        print(f"Without any fault: {found.noticed or found.trouble} not as expected.")
    return found == Answer()


def _report(found: list[Seen]) -> int:
    by_claim = {one.fault for one in found if one.claims and one.claims.noticed}
    by_test = {one.fault for one in found if one.tests and one.tests.noticed}
    broken = [one for one in found if one.broken]
    missed = [one.fault for one in found if not one.seen and not one.broken]
    print(
        f"\n{len(found)} faults: {len(by_claim)} seen by a claim, {len(by_test)} by a "
        f"test, {len(by_claim & by_test)} by both; {len(missed)} by nobody, "
        f"{len(broken)} broken."
    )
    seconds = sum(one.seconds for one in found)
    print(f"{seconds:.0f} s of processor time, {seconds / max(len(found), 1):.1f} a fault.")
    endless = sum(any(each and each.endless for each in (one.claims, one.tests)) for one in found)
    if endless:
        print(f"{endless} of them are seen: a claim or a test does not end.")
    unasked = sum(one.tests is None for one in found)
    print(f"{unasked} name no test, {sum(one.claims is None for one in found)} no claim.")
    for fault in missed:
        print(f"  {fault.room}: {fault.name}: {fault.survives or 'UNEXPLAINED'}")
    for one in broken:
        print(f"  {one.fault.room}: {one.fault.name}: BROKEN: {one.broken}")
    enough = len(missed) <= (1.0 - _SHARE) * len(found)
    explained = all(fault.survives for fault in missed)
    return 0 if enough and explained and not broken else 1


def _kept(file: Path | None) -> dict[str, dict]:
    """Earlier results, by the digest of tree and fault."""
    if file is None or not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines()
    return {row["digest"]: row for row in map(json.loads, lines)}


def _row(one: Seen, key: str) -> str:
    answers = {
        kind: None if answer is None else answer._asdict()
        for kind, answer in (("claims", one.claims), ("tests", one.tests))
    }
    return json.dumps(
        {"digest": key, "room": one.fault.room, "name": one.fault.name, **answers, "by": one.by}
    )


def _seen(fault: Fault, row: dict) -> Seen:
    answers = (row[kind] and Answer(**row[kind]) for kind in ("claims", "tests"))
    return Seen(fault, *answers)


def main() -> int:
    """Plants faults and reports.

    The exit status is 1 unless 95 % of them are noticed and all others are explained.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument(
        "--room", action="append", help="a file of faults; with --random, a folder of the package"
    )
    parser.add_argument("--name", default="", help="faults with this in their name")
    parser.add_argument(
        "--random",
        type=int,
        metavar="COUNT",
        help="draw functions of each room by chance and change one thing in each",
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="that the tests asked about a drawn fault may take together",
    )
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at once")
    parser.add_argument(
        "--record",
        type=Path,
        help="keep who saw what in this file, a line of JSON each; the "
        "same command goes on where it stopped",
    )
    parser.add_argument("--list", action="store_true", help="name the faults alone")
    parser.add_argument(
        "--no-baseline",
        action="store_true",
        help="do not validate without a fault first; with --random, take the tests of last time",
    )
    arguments = parser.parse_args()
    known = room_of(arguments.room or ()) if arguments.random else rooms()
    for room in arguments.room or ():
        if room not in known:
            parser.error(f"--room {room} is none of {', '.join(known or room_of(PARTS))}")
    if arguments.random and not arguments.room:
        parser.error(f"--random needs --room, such as {', '.join(room_of(PARTS))}")
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        right = sandbox(folder / "right")
        chosen = _drawn(arguments, right) if arguments.random else _chosen(arguments)
        if chosen is None:
            return 1
        if arguments.list:
            for fault in chosen:
                print(f"{fault.room}: {fault.name} ({fault.file})")
            return 0
        keys = {fault: digest(right, fault) for fault in chosen}
        kept = _kept(arguments.record)
        found = [_seen(f, kept[keys[f]]) for f in chosen if keys[f] in kept]
        todo = [fault for fault in chosen if keys[fault] not in kept]
        quick = arguments.no_baseline or arguments.random
        if todo and not quick and not _healthy(right, todo):
            return 1
        for one in _look_at_all(todo, folder, max(1, arguments.jobs)):
            found.append(one)
            if arguments.record:
                with arguments.record.open("a", encoding="utf-8") as file:
                    print(_row(one, keys[one.fault]), file=file)
            mark = "seen  " if one.seen else "BROKEN" if one.broken else "MISSED"
            print(
                f"{len(found)}/{len(chosen)} {mark} {one.fault.room}: {one.fault.name} -- {one.by}"
                f" ({one.seconds:.0f} s)",
                flush=True,
            )
    return _report(found)


if __name__ == "__main__":
    sys.exit(main())
