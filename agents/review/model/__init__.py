"""Layer 3 of a review: the questions to a model about a change, and the findings from its answers.

It imports nothing itself: the warm workers need one module of it, and not the libraries that ask models.
"""
