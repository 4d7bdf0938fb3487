"""What makes a plan: the change, its order and batches, entries, and commands."""
