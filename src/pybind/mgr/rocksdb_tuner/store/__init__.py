"""What survives a failover of the manager: records as texts under keys, and back.

`codec` makes JSON values of frozen dataclasses, `text` makes texts of those, `pieces` and `spread`
keep what is longer than one key holds, and `quarantine` sets aside what cannot be read.
"""
