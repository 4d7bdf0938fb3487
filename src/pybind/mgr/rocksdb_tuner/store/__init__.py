"""State that survives a mgr failover: records in the config-key store.

`codec` converts frozen dataclasses to JSON values and back, and `stored` keeps such a record under
a key, in pieces if it exceeds the size limit of a key, and moves unreadable ones aside.
"""
