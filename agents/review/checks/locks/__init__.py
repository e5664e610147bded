"""What a change of a lock file brings: where each package comes from, and by which hash it is known."""
