"""Reports for operators: metrics, costs, the state of everything; and retention."""
