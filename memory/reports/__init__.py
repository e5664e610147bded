"""What operators ask for: metrics, costs, the state of everything; and retention."""
