"""Access to the ceph-mgr API, behind one Protocol per need of the module."""
