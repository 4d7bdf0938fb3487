(import 'config.libsonnet') +
(import 'utils.libsonnet') +
(import 'panels.libsonnet') +
(import 'dashboards.libsonnet') +
(import 'osd.libsonnet') +
(import 'alerts.libsonnet')
