"""The module's knowledge as data: options, releases, profiles, each with its JSON Schema."""
