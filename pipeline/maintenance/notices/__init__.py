"""Tells people and programs of what happens: notices, to targets of the operator and of repositories."""
