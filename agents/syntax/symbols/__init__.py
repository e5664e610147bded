"""Definitions and references by syntax: what a name in a file stands for, as far as that is plain."""
