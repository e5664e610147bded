"""Reads untrusted SARIF 2.1.0: its size is bounded, its paths stay inside the change, its texts are made harmless."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast
from urllib.parse import unquote, urlsplit

from agents.review.checks.rule_texts import shorten
from domain.errors import ToolError
from domain.review.findings import Category, Layer, RawFinding, Severity

Table = dict[str, object]
_MOST_RESULTS = 2000
_SCORES = ((9.0, Severity.critical), (7.0, Severity.error), (4.0, Severity.warning))
"""How GitHub interprets ``security-severity``."""

_SEVERITY = {"error": Severity.error, "warning": Severity.warning, "note": Severity.info, "none": Severity.info}


class SarifReport(NamedTuple):
    """The report of a tool.

    :param is_all: it ran and reports nothing that it could not do, such as a file that it could not parse.
    :param skipped: paths that it warns of, such as one that its configuration leaves out.
    """

    findings: tuple[RawFinding, ...] = ()
    is_all: bool = True
    skipped: frozenset[str] = frozenset()


def read(document: bytes, tool: str, lines: Mapping[str, int], root: str, *, heeding: bool = True) -> SarifReport:
    """The findings of a SARIF document in the files that the tool was given.

    :param document: standard output of the tool.
    :param tool: first part of the rule ids.
    :param lines: path → number of lines, of the files it was given.
    :param root: the folder that the tool ran in, as it saw it; absolute paths below it are accepted.
    :param heeding: whether comments in the code may suppress results.
    :raises ToolError: the document is not SARIF, or has too many results.
    """
    try:
        whole = _table({"document": json.loads(document)}, "document")
    except (ValueError, RecursionError):
        whole = dict[str, object]()
    if not isinstance(whole.get("runs"), list):
        raise ToolError(f"{tool} did not print SARIF 2.1.0.")
    runs = _tables(whole, "runs")
    results = [(run, result) for run in runs for result in _tables(run, "results")]
    if len(results) > _MOST_RESULTS:
        raise ToolError(f"{tool} reported {len(results):,} findings; more than {_MOST_RESULTS:,} are not taken in.")
    found = (_finding(run, result, tool, lines, root) for run, result in results if not _is_suppressed(result, heeding))
    return SarifReport(
        tuple(finding for finding in found if finding is not None),
        bool(runs) and all(map(_is_successful, runs)),
        frozenset(path for run in runs for path in _find_skipped(run, root)),
    )


def _is_successful(run: Table) -> bool:
    """Whether a run reports no failure (SARIF 2.1.0, 3.20). ESLint reports a file that it cannot parse only there."""
    if any(invocation.get("executionSuccessful") is False for invocation in _tables(run, "invocations")):
        return False
    return not any(told.get("level") == "error" for told in _list_notifications(run))


def _find_skipped(run: Table, root: str) -> Iterator[str]:
    """The files that a run warns of. ESLint says only there that its configuration ignores a file."""
    for told in _list_notifications(run):
        if told.get("level", "warning") in ("warning", "error"):
            yield from (_read_path(location, root) for location in _tables(told, "locations"))


def _list_notifications(run: Table) -> list[Table]:
    return [
        told
        for invocation in _tables(run, "invocations")
        for kind in ("toolExecutionNotifications", "toolConfigurationNotifications")
        for told in _tables(invocation, kind)
    ]


def _is_suppressed(result: Table, heeding: bool) -> bool:
    """SARIF 2.1.0, 3.35: ``inSource`` is a comment in the code, ``external`` a rule kept elsewhere."""
    if heeding:
        return bool(result.get("suppressions"))
    return any(_text(each, "kind") == "external" for each in _tables(result, "suppressions"))


def _finding(run: Table, result: Table, tool: str, lines: Mapping[str, int], root: str) -> RawFinding | None:
    """The finding of one result; None if it passed or is not about one of our files."""
    if result.get("kind", "fail") not in ("fail", "open", "review"):
        return None
    location = next(iter(_tables(result, "locations")), dict[str, object]())
    physical, path = _table(location, "physicalLocation"), _read_path(location, root)
    if path not in lines:
        return None
    rule = _rule(run, result)
    identifier = re.sub(r"[^\w.@/+-]", "-", _text(result, "ruleId") or _text(rule, "id") or "finding")[:80]
    level = _text(result, "level") or _text(_table(rule, "defaultConfiguration"), "level")
    first, last = _region(_table(physical, "region"), lines[path])
    return RawFinding(
        rule=f"{tool}/{identifier}",
        category=_category(rule),
        severity=_severity(run, result, rule, _SEVERITY.get(level, Severity.warning)),
        confidence=0.8,
        path=path,
        line=first,
        end_line=last,
        message=shorten(_message(result, rule)) or identifier,
        layer=Layer.static,
        help_url=_web_address(_text(rule, "helpUri")),
    )


def _category(rule: Table) -> Category:
    """Security if a tag says so; else the first tag that names one of ours."""
    tags = _items(_table(rule, "properties"), "tags")
    known = [Category(tag) for tag in tags if tag in Category.__members__]
    return Category.security if Category.security in known else next(iter(known), Category.correctness)


def _severity(run: Table, result: Table, rule: Table, said: Severity) -> Severity:
    """The severity by level, or by ``security-severity`` if that is higher; Forge's own log states it directly."""
    ours = _text(_table(result, "properties"), "severity")
    if _text(_table(_table(run, "tool"), "driver"), "name") == "Forge" and ours in Severity.__members__:
        return Severity(ours)
    try:
        score = float(str(_table(rule, "properties").get("security-severity", "")))
    except ValueError:
        return said
    scored = next((severity for least, severity in _SCORES if score >= least), Severity.info)
    return max(said, scored, key=lambda severity: severity.rank)


def _rule(run: Table, result: Table) -> Table:
    rules = _tables(_table(_table(run, "tool"), "driver"), "rules")
    index = result.get("ruleIndex")
    if isinstance(index, int) and 0 <= index < len(rules):
        return rules[index]
    return next((rule for rule in rules if rule.get("id") == result.get("ruleId")), dict[str, object]())


def _message(result: Table, rule: Table) -> str:
    message = _table(result, "message")
    if text := _text(message, "text"):
        return text
    template = _text(_table(_table(rule, "messageStrings"), _text(message, "id")), "text")
    arguments = [str(argument) for argument in _items(message, "arguments")]

    def argument(match: re.Match[str]) -> str:
        return arguments[int(match[1])] if int(match[1]) < len(arguments) else ""

    return re.sub(r"\{(\d{1,2})\}", argument, template)


def _region(region: Table, count: int) -> tuple[int | None, int | None]:
    first, last = region.get("startLine"), region.get("endLine")
    if not isinstance(first, int):
        return None, None
    start = min(max(first, 1), count)
    return start, min(max(last if isinstance(last, int) else start, start), count)


def _read_path(location: Table, root: str) -> str:
    return _to_path(_text(_table(_table(location, "physicalLocation"), "artifactLocation"), "uri"), root)


def _to_path(uri: str, root: str) -> str:
    """The path that a URI names, relative to ``root``; the caller checks whether it is one of ours."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme not in ("", "file"):
        return ""
    return unquote(parts.path).removeprefix(root.rstrip("/") + "/").removeprefix("./")


def _web_address(uri: str) -> str | None:
    fits = len(uri) <= 300 and re.fullmatch(r"https://[\w.-]+(/[\w./#?=&%+~:-]*)?", uri)
    return uri if fits else None


def _table(parent: Table, key: str) -> Table:
    value = parent.get(key)
    return cast(Table, value) if isinstance(value, dict) else {}


def _items(parent: Table, key: str) -> list[object]:
    value = parent.get(key)
    return cast(list[object], value) if isinstance(value, list) else []


def _tables(parent: Table, key: str) -> list[Table]:
    return [cast(Table, item) for item in _items(parent, key) if isinstance(item, dict)]


def _text(parent: Table, key: str) -> str:
    value = parent.get(key)
    return value if isinstance(value, str) else ""
