"""The roles that look at code and write it: data in, data out, without any power of their own."""
