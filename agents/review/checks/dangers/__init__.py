"""Our own rules for what is dangerous in languages other than Python, matched on syntax trees by ast-grep."""
