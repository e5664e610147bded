"""Gates, their decisions and their history."""
