"""What was granted and spent, and what models answered."""
