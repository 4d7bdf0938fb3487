"""Code shared by all operations, and a package for each kind."""
