"""Runs, plans, tasks and tests."""
