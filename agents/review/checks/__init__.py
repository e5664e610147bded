"""Layers 1 and 2 of a review: deterministic static analysis and security checks of what the change introduced.

Nothing is imported here, so that a warm worker loads only the modules it needs.
"""
