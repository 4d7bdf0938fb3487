"""Plans: change requests, order, batches, config store entries and commands."""
