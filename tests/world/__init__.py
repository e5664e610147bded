"""What stories and threat cases share: a world in which Forge runs."""
