"""Validates the parts of GitHub's answers that Forge reads, and converts them into the domain's types."""
