"""What is known of a repository besides its runs: configuration, level, address, permits."""
