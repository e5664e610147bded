"""Changes, findings and reviews."""
