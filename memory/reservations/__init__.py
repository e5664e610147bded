"""Reservations of money, and the facts that decide about a call of a model."""
