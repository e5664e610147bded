"""Tells where a change gives up in disguise in a way that running its tests cannot tell."""
