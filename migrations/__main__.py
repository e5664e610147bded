"""Applies what is pending to the database whose address stands in the standard input.

A process that goes on for months lets this one do it: what alembic loads and compiles goes with it.
"""

import sys

import migrations
from memory.db.engine import sync_engine

if __name__ == "__main__":
    migrations.upgrade(sync_engine(sys.stdin.read()))
