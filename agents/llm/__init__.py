"""Calls of language models: which one, at what price, how it is asked."""
