"""Components of a tick: settings and permission, queries, evaluation, operations."""
