"""Reservations of money, and all facts that are asked for before a call of a model."""
