"""``python -m tests.faults``: plants faults one at a time, and reports who notices each."""

import argparse
import json
import queue
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.drawing import drawn
from tests.faults.looking import Answer, Seen, claims_say, look
from tests.faults.planting import Fault, digest, faults, rooms, sandbox

# Share of all faults that must be noticed.
_SHARE = 0.95


def _chosen(arguments: argparse.Namespace) -> list[Fault]:
    if arguments.draw:
        found = drawn(arguments.draw, arguments.seed)
    else:
        found = [fault for room in arguments.room or rooms() for fault in faults(room)]
    return [fault for fault in found if arguments.name.lower() in fault.name.lower()]


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
    parser.add_argument("--room", action="append", choices=rooms())
    parser.add_argument("--name", default="", help="faults with this in their name")
    parser.add_argument(
        "--draw",
        type=int,
        metavar="COUNT",
        help="small changes drawn by chance, in place of the rooms' "
        "faults, over the modules of drawn.toml",
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at once")
    parser.add_argument(
        "--record",
        type=Path,
        help="keep who saw what in this file, a line of JSON each; the "
        "same command goes on where it stopped",
    )
    parser.add_argument("--list", action="store_true", help="name the faults alone")
    parser.add_argument(
        "--no-baseline", action="store_true", help="do not validate without a fault first"
    )
    arguments = parser.parse_args()
    chosen = _chosen(arguments)
    if arguments.list:
        for fault in chosen:
            print(f"{fault.room}: {fault.name} ({fault.file})")
        return 0
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        right = sandbox(folder / "right")
        keys = {fault: digest(right, fault) for fault in chosen}
        kept = _kept(arguments.record)
        found = [_seen(f, kept[keys[f]]) for f in chosen if keys[f] in kept]
        todo = [fault for fault in chosen if keys[fault] not in kept]
        if todo and not arguments.no_baseline and not _healthy(right, todo):
            return 1
        for one in _look_at_all(todo, folder, max(1, arguments.jobs)):
            found.append(one)
            if arguments.record:
                with arguments.record.open("a", encoding="utf-8") as file:
                    print(_row(one, keys[one.fault]), file=file)
            mark = "seen  " if one.seen else "BROKEN" if one.broken else "MISSED"
            print(
                f"{len(found)}/{len(chosen)} {mark} {one.fault.room}: {one.fault.name} -- {one.by}",
                flush=True,
            )
    return _report(found)


if __name__ == "__main__":
    sys.exit(main())
