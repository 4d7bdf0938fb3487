{
  _config+:: {
    // These three as in Ceph's own mixin.
    dashboardTags: ['ceph-mixin'],

    // The label that distinguishes clusters. Series may lack it.
    clusterLabel: 'cluster',
    // Whether a Prometheus has the metrics of several clusters.
    showMultiCluster: true,

    // Prefix of all metrics of the module.
    prefix: 'ceph_rocksdb_tuner_',

    // The module ticks at least every few minutes, regardless of the number of OSDs.
    staleSeconds: 900,
    // An OSD restarts within `restart_timeout`, at most an hour.
    rolloutStuckSeconds: 2 * 3600,
    // Before that, the finding `db-device-filling` is a warning.
    dbFullCriticalSeconds: 2 * 86400,

    // Alerts for what the module raises as health checks too, which Ceph's own alerts report as
    // CephHealthWarning and CephHealthError.
    healthCheckAlerts: false,
    // Warnings for which Ceph has health checks of its own.
    findingsOfCeph: ['spillover', 'level-does-not-fit', 'legacy-omap', 'large-omap-objects'],

    // Alertmanager as cephadm configures it sends only alerts with an `oid` of Ceph's to the SNMP
    // gateway. CEPH-MIB has none for this module and stops far below this number; '' leaves them out.
    oid: '1.3.6.1.4.1.50495.1.2.1.99',

    // URL of the manual, if you serve it: alerts then link to the section. Without it they name the
    // section; packages install the manual in /usr/share/doc/ceph-mgr-rocksdb-tuner.
    documentation: '',
  },
}
