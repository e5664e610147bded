"""Findings and their dismissals."""
