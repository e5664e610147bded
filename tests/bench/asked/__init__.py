"""Carries out what people ask for on real changes, with a mind behind the model, and lists what came of it."""
