"""Checks everything that Forge needs; ``forge doctor`` and the set-up pages show it."""
