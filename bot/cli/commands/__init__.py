"""The commands of `forge`, a module for each panel of its help. Each imports what it does when it is called."""
