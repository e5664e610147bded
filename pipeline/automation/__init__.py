"""What Forge does without being asked, as far as the level of a repository allows it."""
