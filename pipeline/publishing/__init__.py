"""The only place that writes to GitHub: each object has its module, and `publisher` makes each write once."""
