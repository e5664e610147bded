"""Diffs that a model wrote: read strictly, applied to the letter, judged before they count."""
