"""The agents that plan a change and carry it out."""
