"""Syntax of changed files: errors, what a change can do to the program, and where its functions and names are."""
