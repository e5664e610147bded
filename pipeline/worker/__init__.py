"""The process that works: DBOS with its workflows, its lease and its sweeps."""
