// As a part of Ceph's own mixin, which gives the configuration that both have and the URL of the
// manual.
{
  local c = $._config,
  local tuner = (import 'mixin.libsonnet') {
    _config+:: {
      dashboardTags: c.dashboardTags,
      clusterLabel: c.clusterLabel,
      showMultiCluster: c.showMultiCluster,
      documentation: 'https://docs.ceph.com/en/latest/mgr/rocksdb_tuner',
    },
  },

  grafanaDashboards+:: tuner.grafanaDashboards,
  prometheusAlerts+:: tuner.prometheusAlerts,
}
