"""Writes the pages of ``docs`` that come from the code."""
