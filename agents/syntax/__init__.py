"""Syntax of the languages that Forge can parse."""
