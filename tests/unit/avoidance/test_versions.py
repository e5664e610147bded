"""The version of a detector rises when what it finds changes, so that no whitelist outlives that unnoticed."""

import hashlib
import json
import sys
from collections import defaultdict
from pathlib import Path

from domain.review.avoidance import AvoidanceKind, find_version
from tests.bench.avoidance.entry import load_packages
from tests.bench.avoidance.judging import judge

PINNED = Path(__file__).with_name("versions.json")
_EVERY = 4
"""One labelled change of so many is looked at: enough to tell a detector that works differently."""


def _pin() -> dict[str, list[object]]:
    """Kind → its version, and a digest of what it finds in the labelled changes."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    changes = [(package, change) for package in load_packages() for change in package.changes]
    for package, change in changes[::_EVERY]:
        for each in judge(package, change):
            found[each.kind.value].append(f"{change.id} {each.path} {each.line} {each.confidence} {each.what}")
    return {
        kind.value: [
            find_version(kind.rule),
            hashlib.sha256("\n".join(sorted(found[kind.value])).encode()).hexdigest()[:16],
        ]
        for kind in AvoidanceKind
    }


def test_what_a_detector_finds_changes_with_its_version() -> None:
    pinned, now = json.loads(PINNED.read_text()), _pin()
    changed = [kind for kind in now if now[kind] != pinned.get(kind)]
    advice = (
        "raise their `_VERSIONS` in domain/review/avoidance.py, then run python -m tests.unit.avoidance.test_versions"
    )
    assert not changed, f"{', '.join(changed)} find something else than before: {advice}"


if __name__ == "__main__":
    PINNED.write_text(json.dumps(_pin(), indent=2) + "\n")
    sys.stdout.write(f"{PINNED.name} is written\n")
