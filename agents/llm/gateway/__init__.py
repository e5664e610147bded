"""Lets a coding agent of any make ask Forge's model through the HTTP API of a provider that it knows."""
