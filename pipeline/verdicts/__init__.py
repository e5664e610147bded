"""The verdict of a review: what it is drawn from, and how it changes when people judge findings."""
