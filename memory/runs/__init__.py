"""Runs: their states, checkpoints, writes, waits and leases."""
