"""Classifies files by path: some are judged more mildly, and some are not written by people."""

import re

from domain.paths import is_document

_TEST_OR_DOCUMENT = re.compile(
    r"(^|/)(tests?|unit_?tests?|[^/]+\.tests?(\.[^/]+)?|testing|testdata|specs?|__tests__|__mocks__|mocks?|fixtures?|examples?|samples?|docs?|cassettes)/"
    r"|(^|/)(test_[^/]*|conftest\.py|tests?\.[^/]+|[^/]*[._-](test|tests|spec|mock|fixture)s?\.[^/]+)$"
    r"|\.(md|mdx|rst|adoc|txt|snap|example|sample|template|tmpl|dist|tpl|j2)$|\.(example|sample|template)\.",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\.(pyi?|[cm]?[jt]sx?|vue|svelte|go|java|kts?|scala|groovy|gradle|cs|vb|fs|c|cc|cpp|h|hpp|m|rs|rb|php|pl|swift|dart"
    r"|lua|exs?|r|sql)$",
    re.IGNORECASE,
)
_MACHINE_MADE = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|[^/]+\.lock)$|\.min\.(js|css)$|\.(map|svg|ipynb)$",
    re.IGNORECASE,
)


def is_test_or_document(path: str) -> bool:
    """Whether a file is a test, an example or a document."""
    return _TEST_OR_DOCUMENT.search(path) is not None


def lists_addresses(path: str) -> bool:
    """Whether programs read addresses in a plain text, as pip does those of indexes in its requirements."""
    folders, _, name = path.lower().rpartition("/")
    return name.endswith(".txt") and not is_document(path) and not is_test_or_document(f"{folders}/")


def is_code(path: str) -> bool:
    """Whether a file is code, where a value without quotes is an expression."""
    return _CODE.search(path) is not None


def is_machine_made(path: str) -> bool:
    """Whether a program wrote this file: a lock file, minified or generated."""
    return _MACHINE_MADE.search(path) is not None
