"""Replies to findings in plain words: a model reads them, and Forge does what they mean."""
