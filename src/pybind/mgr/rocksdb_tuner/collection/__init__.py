"""Cluster data for offline evaluation, as records and as files. Pure.

`report` writes the module's data as such files. `offline` reads them, whether written by the module
or by Ceph's own commands.
"""
