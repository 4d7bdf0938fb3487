"""The parts of a tick: what is read, concluded, published and operated, each one a file."""
