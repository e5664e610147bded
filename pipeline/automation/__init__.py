"""Automatic actions, as far as the level of a repository allows them."""
