"""Everything that touches the ceph-mgr API, behind one Protocol per thing the module needs."""
