"""Findings, and what people said about them."""
