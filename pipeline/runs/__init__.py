"""The life of a run, whatever it is about: it begins, waits, fails, ends, and shows people how it stands."""
