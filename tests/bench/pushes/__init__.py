"""How findings keep their identity while pull requests of public repositories are pushed commit by commit."""
