"""``forge doctor``: checks everything that Forge needs."""
