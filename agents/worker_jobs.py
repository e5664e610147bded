"""The jobs of the warm workers: parsers written in Python.

``prepare`` runs each job once on harmless input, so that all late imports happen before the worker gives up its right
to read the installation.
"""

import codecs
import logging
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from agents.review.avoidance import find_avoidance
from agents.review.checks import patterns, secrets
from agents.review.checks.dangers import rules as dangers
from agents.review.checks.locks import comparison, manifests
from agents.review.model.related import find_related
from agents.syntax import impact, tests, validity
from agents.syntax.hidden_text import find_hidden_text
from agents.syntax.languages import LANGUAGES
from agents.syntax.outline import outline_file
from agents.syntax.symbols.changes import ChangedSource, list_wanted
from agents.syntax.symbols.places import FOLLOWED
from agents.syntax.symbols.uses import Surrounding, find_references
from agents.testing import coverage, test_selection
from agents.testing.runners import reports
from agents.testing.runners.runner import ReportFormat
from domain.errors import ToolError
from domain.review.review import RiskLevel

_JUNIT = (
    b'<testsuite name="a"><testcase name="b" time="1"><failure message="c">&#x1B;d</failure></testcase></testsuite>'
)
_REPORTS: tuple[tuple[ReportFormat, bytes], ...] = (
    ("junit", _JUNIT),
    ("trx", b'<TestRun><UnitTestResult testName="a" outcome="Failed"/></TestRun>'),
    ("jest", b'{"testResults": [{"name": "/w/a", "assertionResults": [{"fullName": "a", "status": "b"}]}]}'),
    ("mocha", b'{"passes": [{"fullTitle": "a", "file": "/w/a", "err": {}}]}'),
    ("node", b'{"file": "", "names": ["a"], "line": 1, "outcome": "b", "message": "", "details": ""}'),
    ("rspec", b'{"examples": [{"full_description": "a", "status": "b"}]}'),
    ("go", b"--- FAIL: TestA (0.00s)\nFAIL\ta\t0.1s"),
    ("cargo", b"test a ... ok"),
    ("tap", b"TAP version 13\n# a\nnot ok 1 b"),
    ("minitest", b"A#b = 0.00 s = ."),
)
_COBERTURA = (
    b'<coverage><sources><source>/w</source></sources><packages><package><classes><class filename="a.py"><lines>'
    b'<line number="1" hits="1"/></lines></class></classes></package></packages></coverage>'
)

JOBS: Sequence[Callable[..., Any]] = (
    find_avoidance,
    find_hidden_text,
    secrets.scan_all,
    reports.parse,
    coverage.parse,
    test_selection.select,
    tests.find_all,
    patterns.scan_both,
    dangers.scan_both,
    comparison.compare,
    manifests.list_new_requests,
    impact.assess,
    outline_file,
    list_wanted,
    find_related,
    find_references,
    validity.find_broken,
    validity.find_new_fault,
)


def prepare() -> None:
    """Load everything, then run every job once."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    lines = [
        'password = "' + "q9" + 'Zr4-Tk2w"',
        "ey" + "JhbGciOiJIUzI1NiJ9" + ".ey" + "JzdWIiOiIxMjM0In0" + ".q9Zr4Tk2wXv7",
    ]
    for path in ("a.py", "a.yml", "a.go", "a"):
        secrets.scan(path, [*enumerate(lines, 1)], [])
    patterns.scan_both("docker", "FROM a\nRUN curl -k https://x.org | sh\n", None)
    for language in dict.fromkeys(LANGUAGES.values()):
        impact.assess("a", language, "a", "b")
        outline_file(language, "a", "b", [1], [1])
    for language in FOLLOWED:
        changes = [ChangedSource("a", "a", language, "a", "b", [1], [1])]
        list_wanted(changes)
        around = Surrounding({"b": "a"}, ["b"], {"package.json": "{}"})
        find_related(changes, around)
        find_references("a", language, "a", "a", around)
    impact.assess("a.md", None, "a", "<b>")
    impact.assess("a.xml", None, "<a/>", "<a />")
    comparison.compare("cargo.lock", "version = 3\n", "version = 4\n")
    manifests.list_new_requests("Cargo.toml", "a = 1", "a = 2")
    for path in ("a.py", "a.yml", "a.md"):
        find_hidden_text(path, "\u202eа\u3164b = 'x'", [1])
    for path in ("test_a.py", "a.yml"):
        find_avoidance(path, path, "a = 1", "b = 2")
    tests.find_all([("def test_a(): pass", "python")])
    _prepare_parsers()
    _prepare_reports()
    validity.prepare()
    for codec in ("utf-8-sig", "latin-1", "utf-16", "cp1252", "ascii"):  # a source file may declare one of these
        codecs.lookup(codec)


def _prepare_parsers() -> None:
    """Load every grammar, and both parsers of YAML with their errors."""
    for suffix in validity.FORMATS:
        for text in ("{", "a = 1", "a: [1", "{}"):
            validity.find_new_fault(f"a{suffix}", text, text, [])
    for suffix in (suffix for suffix, language in LANGUAGES.items() if language in validity.BELIEVED):
        validity.find_new_fault(f"a{suffix}", None, "<?php f( {", [1])
    for grammar in sorted(dangers.LANGUAGES):
        dangers.scan_both(grammar, "f(a)\n", None)


def _prepare_reports() -> None:
    """Run every job once, so that all late imports happen now."""
    for form, document in _REPORTS:
        for each in (document, b"<"):
            with suppress(ToolError):
                reports.parse(form, each, reports.RepositoryPlace("/w"))
    coverage.parse(_COBERTURA, "/w")
    sources = {"a.py": "import os", "test_a.py": "import a", "b.py": "("}
    test_selection.select([*sources], sources, ["a.py"], RiskLevel.low)
