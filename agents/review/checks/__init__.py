"""Layers 1 and 2 of a review: static analysis and security, deterministic, only about what the change introduced.

Nothing is imported here: a warm worker takes what it needs of this package and no more.
"""
