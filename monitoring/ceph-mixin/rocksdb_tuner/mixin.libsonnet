(import 'config.libsonnet') +
(import 'dashboards.libsonnet') +
(import 'alerts.libsonnet')
