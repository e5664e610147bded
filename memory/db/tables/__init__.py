"""The tables of Forge, by subject. DBOS keeps its own beside them in the same database.

Importing this package makes every table known to SQLAlchemy.
"""

from memory.db.tables import deliveries, repositories, runs

__all__ = ["deliveries", "repositories", "runs"]
