"""Diffs that a model wrote: parsed strictly, applied exactly, and judged before they count."""
