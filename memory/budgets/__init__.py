"""Budget extensions, circuit breakers and answers of models."""
