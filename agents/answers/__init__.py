"""Answers to what people say: to their questions, to their replies, and fixes they ask for."""
