"""Calls of models within a run: limits and guards before each, answers kept after."""
