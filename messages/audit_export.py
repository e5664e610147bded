"""Writes events of the audit as JSON Lines or CSV, safe for terminals and spreadsheets."""

import csv
import json
from collections.abc import Sequence
from enum import StrEnum
from io import StringIO

from domain.text.escaping import strip_invisible
from domain.text.redaction import PROCESS_REDACTOR, redact_outgoing
from messages.audit import COLUMNS, AuditEntry, to_json, to_row

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class ExportForm(StrEnum):
    """The forms of an export."""

    jsonl = "jsonl"  # everything the ledger knows
    csv = "csv"  # the columns that people read


def export_head(form: ExportForm) -> str:
    """What an export begins with."""
    return _to_line(COLUMNS) if form is ExportForm.csv else ""


def export_entry(entry: AuditEntry, form: ExportForm) -> str:
    """One event, with the end of its line."""
    if form is ExportForm.csv:
        return _to_line([escape_cell(cell) for cell in to_row(entry)])
    return json.dumps(PROCESS_REDACTOR.redact_values(to_json(entry))) + "\n"  # ASCII, so it cannot control a terminal


def escape_cell(cell: str) -> str:
    """Makes a cell safe: no spreadsheet reads it as a formula (OWASP, CSV injection), no terminal as a command."""
    plain = strip_invisible(redact_outgoing(cell))
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def _to_line(cells: Sequence[str]) -> str:
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
