"""Keeps notices: what is to be told, what was told to whom, and how the targets are."""
