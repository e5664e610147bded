"""Counts what a review found of real bugs, and what it said beside.

    python -m tests.bench.introduced.score seen|unseen SAID.jsonl [JUDGED.jsonl]

A bug is found where a finding stands within ten lines of it; ``JUDGED.jsonl`` says more exactly, for each finding, what
somebody who knew neither the reviewer nor its prompts thought of it: ``{"id", "finding": number from 0, "right": true
if its claim is true and worth hearing, "is_the_bug": true if it is what the later fix mended}``.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.introduced.play import Case, Said, load_cases, load_said

_NEAR = 10  # lines


def count(cases: Sequence[Case], said: Mapping[str, Said], judged: Mapping[tuple[str, int], Mapping[str, bool]]) -> str:
    """Recall, precision and remarks on clean changes, as lines of text."""
    played = [case for case in cases if case.id in said]
    broken = [case for case in played if case.bug is not None]
    clean = [case for case in played if case.bug is None]
    found = [case for case in broken if _is_found(case, said[case.id], judged)]
    remarks = [(case.id, at) for case in played for at in range(len(said[case.id].findings))]
    right = [each for each in remarks if judged.get(each, {}).get("right")]
    on_clean = sum(len(said[case.id].findings) for case in clean)
    lines = [
        f"played: {len(broken)} with a bug, {len(clean)} clean",
        f"recall: {len(found)} of {len(broken)}" + ("" if judged else ", by place"),
        f"remarks: {len(remarks)}, of them on clean changes {on_clean}",
    ]
    return "\n".join([*lines, f"right: {len(right)} of {len(remarks)}"] if judged else lines)


def _is_found(case: Case, said: Said, judged: Mapping[tuple[str, int], Mapping[str, bool]]) -> bool:
    if judged:
        return any(judged.get((case.id, at), {}).get("is_the_bug") for at in range(len(said.findings)))
    assert case.bug is not None
    places = [each.line for each in said.findings if each.path == case.bug.file and each.line is not None]
    return any(abs(place - line) <= _NEAR for place in places for line in case.bug.lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["seen", "unseen"])
    parser.add_argument("said", type=Path)
    parser.add_argument("judged", type=Path, nargs="?")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.judged.read_text().splitlines()] if given.judged else []
    judged = {(row["id"], row["finding"]): row for row in rows}
    print(count(load_cases(given.part), {each.id: each for each in load_said(given.said)}, judged))


if __name__ == "__main__":
    main()
