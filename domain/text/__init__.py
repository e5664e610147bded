"""Text that nobody vouches for: escaped, redacted, compared."""
