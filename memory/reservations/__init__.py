"""Reservations of money, and the facts that decide about a model call."""
