"""Memories: reading, ranking and writing them."""
