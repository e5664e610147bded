"""The tester's jobs in a warm worker: they parse untrusted reports and sources, from JSON to JSON.

An answer holds what is wrong with a report, because only the kind of an exception leaves a worker.
"""

import base64
from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from agents.testing import cobertura, test_selection
from agents.testing.runners import reports
from domain.errors import ToolError
from domain.review.review import RiskLevel

_JUNIT = (
    b'<testsuite name="a"><testcase name="b" time="1"><failure message="c">&#x1B;d</failure></testcase></testsuite>'
)
_REPORTS: tuple[tuple[str, bytes], ...] = (
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


def read_report(request: Any) -> JsonValue:
    """The cases of a report of any form."""
    document = base64.b64decode(request["document"])
    place = reports.RepositoryPlace(request["root"], request["paths"], request["sources"])
    return _answer(lambda: [case.model_dump(mode="json") for case in reports.parse(request["format"], document, place)])


def read_cobertura(request: Any) -> JsonValue:
    """The coverage of a Cobertura report."""
    document, root, paths = base64.b64decode(request["document"]), request["root"], request["paths"]
    return _answer(lambda: cobertura.parse(document, root, paths).model_dump(mode="json"))


def select_tests(request: Any) -> JsonValue:
    """The tests to run."""
    chosen = test_selection.select(
        request["paths"],
        request["sources"],
        request["changed"],
        RiskLevel(request["level"]),
    )
    return chosen.model_dump(mode="json")


def _answer(work: Callable[[], JsonValue]) -> JsonValue:
    try:
        return {"read": work()}
    except ToolError as error:
        return {"problem": error.message}


def prepare() -> None:
    """Run every job once, so that all late imports happen now."""
    for form, document in (*_REPORTS, *((form, b"<") for form, _ in _REPORTS)):
        encoded = base64.b64encode(document).decode()
        read_report({"format": form, "document": encoded, "root": "/w", "paths": [], "sources": {}})
    read_cobertura({"document": base64.b64encode(_COBERTURA).decode(), "root": "/w", "paths": []})
    sources = {"a.py": "import os", "test_a.py": "import a", "b.py": "("}
    asked = {"paths": list(sources), "sources": sources, "changed": ["a.py"], "level": "low"}
    select_tests(asked)
