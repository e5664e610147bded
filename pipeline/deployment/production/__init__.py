"""What monitoring tells of production: kept, traced to a deployment, shown in one issue, and learned from."""
