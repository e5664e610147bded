"""Finds out where a change gives up in disguise, from the syntax of its files before and after."""
