"""All that a judgment of a cluster needs, as one record: from the module, or from files. Pure."""
