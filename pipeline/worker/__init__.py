"""The process that works: DBOS with the workflows, the lease and the sweeps."""
