"""The tools of an agent: each declares its arguments and answers with text."""
