{
  _config+:: {
    dashboardTags: ['ceph-mixin'],

    // The label that distinguishes clusters. Series may lack it.
    clusterLabel: 'cluster',

    // Prefix of all metrics of the module.
    prefix: 'ceph_rocksdb_tuner_',

    // The module ticks at least every few minutes, regardless of the number of OSDs.
    staleSeconds: 900,
    // An OSD restarts within `restart_timeout`, at most an hour.
    rolloutStuckSeconds: 2 * 3600,
    // Before that, the finding `db-device-filling` is a warning.
    dbFullCriticalSeconds: 2 * 86400,

    // URL of the manual, if you serve it: alerts then link to the section. Without it they name the
    // section; packages install the manual in /usr/share/doc/ceph-mgr-rocksdb-tuner.
    documentation: '',
  },
}
