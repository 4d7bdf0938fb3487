"""Changes under way on the cluster: a package per kind."""
