"""The configuration of a repository."""
