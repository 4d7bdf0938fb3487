"""All that is needed to judge a cluster elsewhere, as records and as files. Pure.

`report` writes what the module knows as such files, `offline` reads them, be they written by the
module or printed by Ceph's own commands.
"""
