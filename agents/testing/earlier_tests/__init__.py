"""The tests of before a change, on its code: which they are, what they run on, and what became of them."""
