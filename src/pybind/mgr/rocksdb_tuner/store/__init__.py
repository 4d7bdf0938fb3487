"""State that survives a mgr failover: records stored as texts in the config-key store.

`codec` converts frozen dataclasses to JSON values, `text` converts these to texts, `pieces` and
`spread` store texts that exceed the size limit of a key, and `quarantine` moves unreadable data
aside.
"""
