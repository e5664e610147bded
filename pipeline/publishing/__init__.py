"""The only place that writes to GitHub."""
