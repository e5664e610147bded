"""The data of a repository besides its runs: configuration, level, address, permits."""
