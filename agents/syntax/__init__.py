"""Syntax trees of changed files: what a change can do to the program, and where its functions and names are."""
