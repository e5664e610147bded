"""Answers to commands that ask a model: changes that fix a finding, and questions about the code."""
