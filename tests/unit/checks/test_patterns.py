"""Every entry of the table finds its bad examples and leaves its good ones alone."""

import pytest

from agents.review.checks.patterns import BY_RULE, TABLE, Kind, detect_kind, scan
from tests.unit.checks.examples import PATTERNS

BAD: list[tuple[str, Kind, str]] = [
    (p.rule, kind, text) for p in TABLE for kind in p.kinds for text in PATTERNS[p.rule].bad
]
GOOD: list[tuple[str, Kind, str]] = [
    (p.rule, kind, text) for p in TABLE for kind in p.kinds for text in PATTERNS[p.rule].good
]


def _is_found(rule: str, kind: Kind, text: str) -> bool:
    return rule in {hit.rule for hit in scan(kind, text)}


def test_finds() -> None:
    assert [row for row in BAD if not _is_found(*row)] == []


def test_leaves_alone() -> None:
    assert [row for row in GOOD if _is_found(*row)] == []


def test_every_entry_has_both_kinds_of_examples() -> None:
    assert len(BY_RULE) == len(TABLE)
    assert PATTERNS.keys() == BY_RULE.keys()
    assert all(len(each.bad) >= 2 and len(each.good) >= 2 for each in PATTERNS.values())
    assert all(pattern.message.endswith(".") for pattern in TABLE)


def test_line_of_a_match_behind_continuations() -> None:
    text = "FROM a:1\nRUN apt-get update \\\n  # why\n  && curl -s https://site.org/x | sh \\\n  && chmod 777 /x\n"
    assert [(hit.line, hit.rule) for hit in scan("docker", text)] == [
        (4, "shell/curl-pipe"),
        (5, "shell/world-writable"),
    ]


@pytest.mark.parametrize(
    ("path", "head", "kind"),
    [
        ("Dockerfile", b"", "docker"),
        ("deploy/api.Dockerfile", b"", "docker"),
        ("Dockerfile.dev", b"", "docker"),
        ("run.sh", b"", "shell"),
        ("bin/start", b"#!/usr/bin/env bash\n", "shell"),
        ("bin/start", b"#!/usr/bin/env python3\n", None),
        ("Dockerfile_notes", b"", None),
        ("a.py", b"", None),
    ],
)
def test_kind_of_file(path: str, head: bytes, kind: Kind | None) -> None:
    assert detect_kind(path, head) == kind
