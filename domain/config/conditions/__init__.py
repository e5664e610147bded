"""The conditions of a repository's own gates: a small language of expressions."""
