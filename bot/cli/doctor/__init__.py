"""``forge doctor``: looks at everything that Forge needs."""
