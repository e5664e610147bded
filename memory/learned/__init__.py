"""Memories: storing, recalling and consolidating them."""
