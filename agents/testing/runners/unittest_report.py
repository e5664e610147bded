"""Runs ``python3 -m unittest`` and writes a JUnit report to ``$FORGE_RESULTS``; unittest itself has none.

It is given to the repository's own Python as text, so it needs nothing but the standard library, of Python 3.8 and up.
"""

# It runs elsewhere, on an older Python and against a library in another style.
# ruff: noqa: N802, PTH100, PTH109, PTH110, PTH118, UP031
# pyrefly: ignore-errors

import os
import sys
import time
import traceback
import unittest
from xml.etree import ElementTree

root = os.getcwd()
sys.path.insert(0, root)
suite = ElementTree.Element("testsuite", name="unittest")


def _locate(test):
    """(module.Class, file, line) of a test, as far as they are known."""
    kind, name = type(test), test.id().rpartition(".")[2]
    if kind.__name__ == "_FailedTest":  # unittest's stand-in for a module that cannot be loaded
        path = test._testMethodName.replace(".", os.sep)
        named = [each[:-3] for each in sys.argv[1:] if each.endswith(".py")]
        path = next((each for each in named if each.rpartition("/")[2] == path), path)
        return "", path + ".py" if os.path.exists(path + ".py") else os.path.join(path, "__init__.py"), None
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    function = getattr(kind, name, None)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return kind.__module__ + "." + kind.__qualname__, file, code and code.co_firstlineno


def _name(test, group):
    """Its method; of what is no method of its class, such as a doctest, the whole id."""
    identity = test.id()
    return identity[len(group) + 1 :] if identity.startswith(group + ".") else identity


def _clean(text):
    return "".join(
        char if char in "\n\t" or ord(char) >= 32 else "?" for char in text.encode("utf-8", "replace").decode()
    )


class _Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self._since = time.perf_counter()

    def _write(self, test, kind=None, message="", details="", name=None, **more):
        group, file, line = _locate(test)
        name = name or (file or "")[:-3].replace(os.sep, ".") if not group else name
        said = {"classname": group, "name": name or _name(test, group)}
        if file and os.path.abspath(file).startswith(root + os.sep):
            said["file"] = os.path.relpath(file, root)
        if line:
            said["line"] = str(line)
        said["time"] = "%.4f" % (time.perf_counter() - getattr(self, "_since", time.perf_counter()))
        case = ElementTree.SubElement(suite, "testcase", {key: _clean(value) for key, value in said.items()})
        if kind:
            ElementTree.SubElement(case, kind, message=_clean(message), **more).text = _clean(details)

    def _fail(self, test, kind, error, name=None):
        shown = "".join(traceback.format_exception(*error))
        self._write(test, kind, "%s: %s" % (error[0].__name__, error[1]), shown, name)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._write(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(test, "failure", err)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(test, "error", err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._write(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._write(test, "skipped", "expected failure", type="unittest.expectedFailure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._write(test, "failure", "unexpected success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            kind = "failure" if issubclass(err[0], test.failureException) else "error"
            self._fail(test, kind, err, test.id().rpartition(".")[2] + " " + subtest._subDescription())

    def stopTestRun(self):
        super().stopTestRun()
        ElementTree.ElementTree(suite).write(os.path.join(os.environ["FORGE_RESULTS"], "junit.xml"), "utf-8")


class _Runner(unittest.TextTestRunner):
    resultclass = _Result


sys.argv[0] = "python3 -m unittest"
unittest.main(module=None, testRunner=_Runner)
