"""``python -m tests.faults.asking ID ...``: the first claim that is not as expected, as JSON.

Cheap claims are asked first: self-checks compile the mechanism.
"""

import json
import sys

from jaxsel.base import Budget
from jaxsel.catalogue import find_claim, is_self_check
from jaxsel.validation import validate

BUDGET = Budget(trials=100_000, cases=60)


def main() -> None:
    """Prints the ids that are not as expected: one, or none."""
    found = []
    for name in sorted(sys.argv[1:], key=is_self_check):
        if not validate(find_claim(name), BUDGET)[0].as_expected:
            found = [name]
            break
    print(json.dumps(found))


if __name__ == "__main__":
    main()
