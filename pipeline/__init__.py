"""Durable runs: the only door in, the workflows from top to bottom, and the only place that writes to GitHub."""
