"""Reports for operators: metrics, costs, present state and retention."""
