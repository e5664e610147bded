"""GitHub's JSON of each thing, as its API documents it."""
