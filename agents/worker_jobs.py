"""The jobs of the warm workers: parsers written in Python, each as a function from JSON to JSON.

``prepare`` runs each job once on harmless input, so that all late imports happen before the worker gives up its right
to read the installation.
"""

# bandit comes without types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

import base64
import codecs
import io
import logging
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from bandit.core import constants as bandit_constants
from bandit.core import extension_loader
from bandit.core.config import BanditConfig
from bandit.core.docs_utils import get_url
from bandit.core.manager import BanditManager
from pydantic import JsonValue

from agents.review.avoidance.detection import read_versions
from agents.review.checks import patterns, secrets
from agents.review.checks.dangers import scanner as dangers
from agents.review.checks.locks import comparison
from agents.syntax import data, errors, pages, validity
from agents.syntax.impact import find_impact
from agents.syntax.languages import LANGUAGES
from agents.syntax.outline import outline_file
from agents.testing import parsers as testing
from domain.paths import is_document

# Rules with mostly useless findings: bare imports, asserts, `random`, every subprocess call, and the three that guess
# passwords (our own secret detection is better at that and never quotes them).
BANDIT_UNASKED = frozenset(
    {"B101", "B105", "B106", "B107", "B112", "B311", "B404", "B603", "B606", "B607", "B609"}
    | {"B401", "B402", "B403", "B405", "B406", "B407", "B408", "B409", "B410", "B411", "B412", "B413", "B415"}
)


class _Bandit:
    """One bandit, reused for every file."""

    def __init__(self) -> None:
        self._manager = BanditManager(BanditConfig(), "file", quiet=True, profile={"exclude": BANDIT_UNASKED})

    def scan(self, content: bytes, heeding: bool) -> list[JsonValue] | None:
        """The issues of one file; None if it could not be parsed.

        :param heeding: whether comments with ``nosec`` count.
        """
        manager = self._manager
        manager.results, manager.skipped, manager.scores = [], [], []
        manager.ignore_nosec = not heeding or b"nosec" not in content  # bandit then skips the tokenizer
        manager._parse_file("./file.py", io.BytesIO(content), ["./file.py"])  # pyright: ignore[reportPrivateUsage]
        if manager.skipped:
            return None
        low = bandit_constants.LOW
        return [
            {
                "rule": issue.test_id,
                "severity": issue.severity,
                "confidence": issue.confidence,
                "line": issue.lineno,
                "end_line": max(issue.linerange or [issue.lineno]),
                "text": issue.text[:500],
                "url": get_url(issue.test_id),
            }
            for issue in manager.results
            if issue.filter(low, low)
        ]


@lru_cache(maxsize=1)
def _load_bandit() -> _Bandit:
    return _Bandit()


def scan_with_bandit(request: Any) -> JsonValue:
    """Scan one file at head and, if that finds anything, at the merge base."""
    scanner, heeding = _load_bandit(), bool(request["heeding"])
    head = scanner.scan(base64.b64decode(request["head"]), heeding)
    base: list[JsonValue] | None = []
    if head and request["base"] is not None:
        base = scanner.scan(base64.b64decode(request["base"]), heeding)
    return {"head": head, "base": base}


def scan_secrets(request: Any) -> JsonValue:
    """Scan the added lines of some files. An answer says where a credential is and of what kind, never what it is."""
    return [
        {"path": file["path"], "kind": hit.kind, "line": hit.line, "mark": hit.mark}
        for file in request
        for hit in secrets.scan(file["path"], _to_pairs(file["added"]), file["removed"], _to_pairs(file["headers"]))
    ]


def _to_pairs(lines: Any) -> list[tuple[int, str]]:
    return [(number, text) for number, text in lines]


def scan_patterns(request: Any) -> JsonValue:
    """Match our own table of patterns on one file at head and at the merge base."""
    kind = request["kind"]
    return {
        side: [{"rule": hit.rule, "line": hit.line} for hit in patterns.scan(kind, request[side])]
        for side in ("head", "base")
        if request[side] is not None
    }


def assess_impact(request: Any) -> JsonValue:
    """Compare one file before and after: the syntax trees of source, what acts in a document."""
    path, language, base, head = (request[key] for key in ("path", "language", "base", "head"))
    return (pages.find_impact(path, base, head) if is_document(path) else find_impact(path, language, base, head)).value


def compare_lock(request: Any) -> JsonValue:
    """What the change of a lock file comes to."""
    return comparison.compare(request["path"], request["base"], request["head"]).model_dump(mode="json")


def outline(request: Any) -> JsonValue:
    """Outline what surrounds the changed lines of one file."""
    sides = (request["base"], request["head"])
    found = outline_file(request["language"], *sides, request["added"], request["removed"])
    return found.model_dump(mode="json")


def check_syntax(request: Any) -> JsonValue:
    """The first syntax error of a file at head, unless it could not be parsed at the merge base either."""
    form, grammar = request["format"], request["grammar"]

    def find(text: str) -> errors.SyntaxFault | None:
        return data.find_fault(form, text) if form else errors.find_fault(grammar, text)

    fault = find(request["head"])
    is_old = fault is not None and request["base"] is not None and find(request["base"]) is not None
    return {"fault": None if fault is None or is_old else {"line": fault.line, "text": fault.text}}


def scan_dangers(request: Any) -> JsonValue:
    """Match our tables of dangerous code on one file at head and, if that finds anything, at the merge base."""
    found: dict[str, JsonValue] = {"head": _match(request["grammar"], request["head"])}
    if found["head"] and request["base"] is not None:
        found["base"] = _match(request["grammar"], request["base"])
    return found


def _match(grammar: str, text: str) -> list[JsonValue]:
    hits = dangers.scan(grammar, text)
    return [{"rule": hit.rule, "line": hit.line, "end_line": hit.end_line} for hit in hits]


JOBS: Mapping[str, Callable[[Any], JsonValue]] = {
    "avoidance": read_versions,
    "bandit": scan_with_bandit,
    "secrets": scan_secrets,
    "patterns": scan_patterns,
    "impact": assess_impact,
    "lock": compare_lock,
    "outline": outline,
    "syntax": check_syntax,
    "dangers": scan_dangers,
    "junit": testing.read_junit,
    "cobertura": testing.read_cobertura,
    "selection": testing.select_tests,
    "parses": validity.is_parsed,
}

_EXAMPLE = b"""
import hashlib, subprocess, yaml, torch, pickle, requests
'%s' % 1
f"{subprocess}"
def run(command, password="x"):
    subprocess.run(command, shell=True)  # nosec: B101
    yaml.load(command); torch.load(command); pickle.loads(command); requests.get(command)
    cursor.execute("SELECT %s FROM x" % command)
    try:
        hashlib.md5(command)
    except Exception:
        pass
"""


def prepare() -> None:
    """Load everything, then run every job once."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    assert extension_loader.MANAGER.plugins
    content = base64.b64encode(_EXAMPLE).decode()
    scan_with_bandit({"head": content, "base": content, "heeding": True})
    scan_with_bandit({"head": base64.b64encode(b"def (").decode(), "base": None, "heeding": False})
    line = 'password = "' + "q9" + 'Zr4-Tk2w"'
    scan_secrets(
        [{"path": path, "added": [[1, line]], "removed": [], "headers": []} for path in ("a.py", "a.yml", "a.go", "a")]
    )
    scan_patterns({"kind": "docker", "head": "FROM a\nRUN curl -k https://x.org | sh\n", "base": None})
    for language in dict.fromkeys(LANGUAGES.values()):
        both = {"path": "a", "language": language, "base": "a", "head": "b"}
        assess_impact(both)
        outline({**both, "added": [1], "removed": [1]})
    assess_impact({"path": "a.md", "language": None, "base": "a", "head": "<b>"})
    compare_lock({"path": "cargo.lock", "base": "version = 3\n", "head": "version = 4\n"})
    for path in ("test_a.py", "a.yml"):
        read_versions({"base_path": path, "head_path": path, "base": "a = 1", "head": "b = 2"})
    _prepare_parsers()
    testing.prepare()
    validity.prepare()
    for codec in ("utf-8-sig", "latin-1", "utf-16", "cp1252", "ascii"):  # a source file may declare one of these
        codecs.lookup(codec)


def _prepare_parsers() -> None:
    """Load every grammar, and both parsers of YAML with their errors."""
    for form in data.FORMATS.values():
        for text in ("{", "a = 1", "a: [1", "{}"):
            check_syntax({"format": form, "grammar": None, "head": text, "base": text})
    for grammar in sorted(errors.BELIEVED):
        check_syntax({"format": None, "grammar": grammar, "head": "<?php f( {", "base": None})
    for grammar in sorted(dangers.LANGUAGES):
        scan_dangers({"grammar": grammar, "head": "f(a)\n", "base": None})
