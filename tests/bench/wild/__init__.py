"""Runs the rules about giving up over merged changes of public repositories, drawn by chance."""
