"""Memories, and how they are read, ranked and written."""
