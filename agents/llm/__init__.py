"""Calls language models: which one, at what price, and how."""
