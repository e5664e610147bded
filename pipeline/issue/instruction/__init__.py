"""Instructions: what people ask for on a pull request is planned, carried out, committed there and answered."""
