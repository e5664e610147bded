"""The tables of Forge, by subject. DBOS keeps its own beside them in the same database.

Importing this package makes every table known to SQLAlchemy.
"""

from memory.db.tables import (
    automation,
    deliveries,
    deployments,
    findings,
    gates,
    learned,
    ledger,
    money,
    notices,
    process,
    production,
    reports,
    repositories,
    runs,
    sessions,
)

__all__ = [
    "automation",
    "deliveries",
    "deployments",
    "findings",
    "gates",
    "learned",
    "ledger",
    "money",
    "notices",
    "process",
    "production",
    "reports",
    "repositories",
    "runs",
    "sessions",
]
