"""Records as text for a terminal, in the form of Ceph's own commands."""
