"""Untrusted text: escaping, redaction and comparison."""
