"""Has the benchmarks measure a PostgreSQL that waits for its disk, as an operator's does."""

import os

from tests.databases import DURABLE

os.environ[DURABLE] = "1"
