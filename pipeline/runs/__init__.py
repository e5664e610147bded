"""The life cycle of every run: start, wait, failure, end, and its status on GitHub."""
