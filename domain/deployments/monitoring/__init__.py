"""Reads what monitoring systems send in their own words."""
