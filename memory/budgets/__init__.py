"""Budget extensions, circuit breakers and model answers."""
