{
  _config+:: {
    dashboardTags: ['ceph-mixin'],

    // A label that tells clusters apart. Without one in the series it is empty, and harmless.
    clusterLabel: 'cluster',

    // Of the metrics endpoint of the module.
    prefix: 'ceph_rocksdb_tuner_',

    // A tick takes place at least every few minutes, whatever the number of OSDs.
    staleSeconds: 900,
    // An OSD restarts within `restart_timeout`, at most an hour.
    rolloutStuckSeconds: 2 * 3600,
    // Before, the finding `db-device-filling` is a warning.
    dbFullCriticalSeconds: 2 * 86400,
    documentation: 'https://docs.ceph.com/en/latest/mgr/rocksdb_tuner',
  },
}
