"""Reads SARIF 2.1.0 that nobody vouches for: bounded, its paths kept inside the change, its texts made inert."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from agents.checks.words import bounded
from domain.errors import ToolError
from domain.findings import Category, Layer, RawFinding, Severity

_MOST_RESULTS = 2000
_SEVERITY = {"error": Severity.error, "warning": Severity.warning, "note": Severity.info, "none": Severity.info}


def read(document: bytes, tool: str, lines: Mapping[str, int], root: str) -> tuple[RawFinding, ...]:
    """The findings of a SARIF document that lie in the files that were given to the tool.

    :param document: standard output of the tool.
    :param tool: first part of the rule ids.
    :param lines: path → number of lines, of the files it was given.
    :param root: the folder the tool believed it ran in; absolute paths below it are understood.
    :raises ToolError: the document is not SARIF, or holds more than anybody could want to read.
    """
    try:
        runs = cast(dict[str, Any], json.loads(document))["runs"]
        results = [(run, result) for run in runs for result in run.get("results") or ()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ToolError(f"{tool} did not print SARIF 2.1.0.") from None
    if len(results) > _MOST_RESULTS:
        raise ToolError(f"{tool} reported {len(results):,} findings; more than {_MOST_RESULTS:,} are not taken in.")
    found: list[RawFinding] = []
    for run, result in results:
        try:
            found += _findings(run, result, tool, lines, root)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            continue  # one malformed result says nothing about the others
    return tuple(found)


def _findings(
    run: dict[str, Any], result: dict[str, Any], tool: str, lines: Mapping[str, int], root: str
) -> Iterator[RawFinding]:
    if result.get("suppressions") or result.get("kind", "fail") not in ("fail", "open", "review"):
        return
    rule = _rule(run, result)
    identifier = re.sub(r"[^\w.@/+-]", "-", str(result.get("ruleId") or rule.get("id") or "finding"))[:80]
    level = result.get("level") or rule.get("defaultConfiguration", {}).get("level") or "warning"
    tags = [str(tag) for tag in rule.get("properties", {}).get("tags", ())][:20]
    for place in result.get("locations") or ():
        physical = place["physicalLocation"]
        path = _inside(physical["artifactLocation"]["uri"], root)
        if path not in lines:
            continue
        region = physical.get("region") or {}
        first, last = _region(region, lines[path])
        yield RawFinding(
            rule=f"{tool}/{identifier}",
            category=Category.security if "security" in tags else Category.correctness,
            severity=_SEVERITY.get(str(level), Severity.warning),
            confidence=0.8,
            path=path,
            line=first,
            end_line=last,
            message=bounded(_message(result, rule)) or identifier,
            layer=Layer.static,
            help_url=_web_address(rule.get("helpUri")),
        )
        return  # further locations belong to the same finding


def _rule(run: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    rules = run.get("tool", {}).get("driver", {}).get("rules") or []
    index = result.get("ruleIndex", -1)
    if isinstance(index, int) and 0 <= index < len(rules):
        return rules[index]
    return next((rule for rule in rules if rule.get("id") == result.get("ruleId")), {})


def _message(result: dict[str, Any], rule: dict[str, Any]) -> str:
    message = result.get("message") or {}
    if isinstance(text := message.get("text"), str):
        return text
    template = (rule.get("messageStrings") or {}).get(message.get("id"), {}).get("text", "")
    arguments = [str(argument) for argument in message.get("arguments") or ()]
    return re.sub(r"\{(\d{1,2})\}", lambda m: arguments[int(m[1])] if int(m[1]) < len(arguments) else "", str(template))


def _region(region: dict[str, Any], count: int) -> tuple[int | None, int | None]:
    first = region.get("startLine")
    if not isinstance(first, int):
        return None, None
    last = region.get("endLine", first)
    first = min(max(first, 1), count)
    return first, min(max(last if isinstance(last, int) else first, first), count)


def _inside(uri: str, root: str) -> str:
    """The path a URI names, relative to ``root``. Whether it is one of ours is for the caller to look up."""
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file"):
        return ""
    return unquote(parts.path).removeprefix(root.rstrip("/") + "/").removeprefix("./")


def _web_address(uri: object) -> str | None:
    if isinstance(uri, str) and len(uri) <= 300 and re.fullmatch(r"https://[\w.-]+(/[\w./#?=&%+~:-]*)?", uri):
        return uri
    return None
