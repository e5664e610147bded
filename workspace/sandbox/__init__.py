"""Processes that can do little: the sandbox, its levels, its workers."""
