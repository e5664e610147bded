"""Answers to what people say: to their questions and to their replies."""
