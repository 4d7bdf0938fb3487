// What dashboards and alerts of Ceph's own mixin have in common, so that these behave alike on a
// Prometheus with several clusters.
//
// MultiClusterSummary, matchers, addClusterTemplate, addAnnotationSchema and addLinkSchema are taken from monitoring/ceph-mixin/prometheus_alerts.libsonnet and
// monitoring/ceph-mixin/dashboards/utils.libsonnet of Ceph 20.2.4 (https://github.com/ceph/ceph),
// Copyright (C) 2004-2025 Ceph contributors, LGPL-2.1 or LGPL-3. Changes: the label of the cluster
// comes from the configuration everywhere; the variable takes its values from the module's metrics,
// for a Prometheus may not scrape Ceph's; a summary without the label ends before "on cluster"; and
// what grafonnet makes is written out, so that no other library is needed.
{
  MultiClusterSummary()::
    if $._config.showMultiCluster
    then '{{ with $labels.%s }} on cluster {{ . }}{{ end }}' % $._config.clusterLabel
    else '',

  matchers()::
    local clusterMatcher = '%s=~"$cluster|"' % $._config.clusterLabel;
    {
      // Common labels
      matchers: (if $._config.showMultiCluster then clusterMatcher + ', ' else ''),
    },

  addTemplateSchema(name, query, label, includeAll=false, multi=false, sort=1, hide=0):: {
    // Also matches series without the label.
    [if includeAll then 'allValue']: '.*',
    current: if includeAll then { text: 'All', value: '$__all' } else {},
    datasource: { type: 'prometheus', uid: '${datasource}' },
    hide: hide,
    includeAll: includeAll,
    label: label,
    multi: multi,
    name: name,
    query: query,
    refresh: 1,
    regex: '(.*)',
    sort: sort,
    type: 'query',
  },

  addClusterTemplate()::
    $.addTemplateSchema(
      'cluster',
      'label_values(%s, %s)' % [$.metric('mode'), $._config.clusterLabel],
      'Cluster',
      hide=if $._config.showMultiCluster then 0 else 2,
    ),

  addAnnotationSchema(name, datasource, iconColor, type, builtIn=0, enable=true, hide=false):: {
    builtIn: builtIn,
    datasource: datasource,
    enable: enable,
    hide: hide,
    iconColor: iconColor,
    name: name,
    type: type,
  },

  addLinkSchema(title, tags):: {
    asDropdown: true,
    icon: 'external link',
    includeVars: true,
    keepTime: true,
    tags: tags,
    targetBlank: false,
    title: title,
    type: 'dashboards',
  },

  // Not Ceph's, from here on.
  metric(name):: $._config.prefix + name,

  // The series of a metric in the cluster that the variable of a dashboard names.
  series(name, matcher='')::
    '%s{%s%s}' % [$.metric(name), $.matchers().matchers, matcher],

  // `by` and `on` take these labels.
  labels(others=[])::
    local cluster = if $._config.showMultiCluster then [$._config.clusterLabel] else [];
    std.join(', ', cluster + others),
}
