{
  local c = $._config,
  local m(name) = c.prefix + name,
  local cluster = '%s=~"$cluster"' % c.clusterLabel,
  local classes = '%s, device_class=~"$device_class"' % cluster,
  local datasource = { type: 'prometheus', uid: '${datasource}' },

  // A per-OSD metric, filtered by the variables of the dashboard.
  local ofOsds(name) =
    '%(metric)s{%(cluster)s, ceph_daemon=~"$osd"} * on (%(label)s, instance, ceph_daemon) group_left (device_class) %(info)s{%(classes)s}' % {
      metric: m(name),
      cluster: cluster,
      label: c.clusterLabel,
      info: m('osd_info'),
      classes: classes,
    },
  // Thousands of lines would be unreadable.
  local worst(name) = 'topk(10, %s)' % ofOsds(name),
  local ofClasses(name) = 'max by (device_class) (%s{%s})' % [m(name), classes],

  local target(expr, legend, format='time_series') = {
    datasource: datasource,
    expr: expr,
    legendFormat: legend,
    format: format,
    instant: format == 'table',
    refId: 'A',
  },
  local panel(type, title, description, targets, unit) = {
    type: type,
    title: title,
    description: description,
    datasource: datasource,
    targets: [targets[i] { refId: std.char(65 + i) } for i in std.range(0, std.length(targets) - 1)],
    fieldConfig: { defaults: { unit: unit }, overrides: [] },
  },
  local graph(title, description, targets, unit, max=null) =
    panel('timeseries', title, description, targets, unit) {
      fieldConfig+: { defaults+: {
        min: 0,
        [if max != null then 'max']: max,
        custom: { fillOpacity: 8, showPoints: 'never', spanNulls: false },
      } },
      options: {
        legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'] },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
    },
  local steps(values) = { mode: 'absolute', steps: values },
  local stat(title, description, expr, unit, thresholds, legend='') =
    panel('stat', title, description, [target(expr, legend)], unit) {
      fieldConfig+: { defaults+: {
        thresholds: steps(thresholds),
        color: { mode: 'thresholds' },
      } },
      options: {
        reduceOptions: { calcs: ['lastNotNull'] },
        colorMode: 'value',
        graphMode: 'none',
        textMode: if legend == '' then 'value' else 'name',
      },
    },
  local neutral = [{ color: 'text', value: null }],
  local bad(color) = [{ color: 'green', value: null }, { color: color, value: 1 }],
  local row(title) = { type: 'row', title: title, collapsed: false, panels: [] },

  local rows = [
    {
      title: 'Cluster',
      height: 4,
      panels: [
        stat('Mode', 'Current mode of the module.', '%s{%s} == 1' % [m('mode'), cluster], 'none', neutral, '{{mode}}'),
        stat('Errors', 'Findings with severity error.', 'max(%s{%s, severity="error"})' % [m('findings'), cluster], 'none', bad('red')),
        stat('Warnings', 'Findings with severity warning.', 'max(%s{%s, severity="warning"})' % [m('findings'), cluster], 'none', bad('orange')),
        stat('Recommendations', 'Recommended changes.', 'max(sum by (instance) (%s{%s}))' % [m('recommendations'), cluster], 'none', bad('blue')),
        stat('Rollout', 'Phase of the last rollout.', '%s{%s} == 1' % [m('rollout_phase'), cluster], 'none', neutral, '{{phase}}'),
        stat('Data age', 'Time since the last update by the module.', 'time() - max(%s{%s})' % [m('snapshot_timestamp_seconds'), cluster], 's', [
          { color: 'green', value: null },
          { color: 'orange', value: c.staleSeconds },
        ]),
      ],
    },
    {
      title: 'Device classes',
      height: 8,
      panels: [
        panel('table', 'Workload and options', 'Workload and options of the OSDs in each device class.', [
          target('%s{%s}' % [m('device_class_info'), classes], '', 'table'),
        ], 'none') {
          transformations: [
            { id: 'organize', options: {
              excludeByName: { Time: true, Value: true, __name__: true, job: true, instance: true },
              renameByName: { device_class: 'Device class', workload: 'Workload', profile: 'Profile' },
            } },
          ],
        },
        panel('table', 'Findings', 'Findings and the number of affected OSDs.', [
          target('max by (finding, severity) (%s{%s})' % [m('finding_osds'), cluster], '', 'table'),
        ], 'none') {
          transformations: [
            { id: 'organize', options: {
              excludeByName: { Time: true },
              renameByName: { finding: 'Finding', severity: 'Severity', Value: 'OSDs' },
            } },
          ],
        },
      ],
    },
    {
      title: '',
      height: 8,
      panels: [
        graph('Busiest kv_sync thread', 'At 100% this thread limits the writes of an OSD.', [
          target(ofClasses('device_class_kv_sync_busy_max_ratio'), '{{device_class}}'),
        ], 'percentunit', 1),
        graph('RocksDB writes', 'Bytes that BlueFS writes on all OSDs. SST includes compaction.', [
          target(ofClasses('device_class_wal_bytes_per_second'), '{{device_class}} WAL'),
          target(ofClasses('device_class_sst_bytes_per_second'), '{{device_class}} SST'),
          target(ofClasses('device_class_compaction_bytes_per_second'), '{{device_class}} compaction'),
        ], 'Bps'),
        graph('Fullest DB device', 'Usage of the DB device by RocksDB.', [
          target(ofClasses('device_class_db_used_max_ratio'), '{{device_class}}'),
        ], 'percentunit', 1),
      ],
    },
    {
      title: 'Top 10 OSDs',
      height: 8,
      panels: [
        graph('kv_sync latency', 'Mean duration of a kv_sync round.', [target(worst('osd_kv_sync_seconds'), '{{ceph_daemon}}')], 's'),
        graph('kv_sync busy', 'Share of time that the kv_sync thread is busy.', [target(worst('osd_kv_sync_busy_ratio'), '{{ceph_daemon}}')], 'percentunit', 1),
        graph('Commit latency', 'Mean time until a transaction is durable.', [target(worst('osd_commit_seconds'), '{{ceph_daemon}}')], 's'),
      ],
    },
    {
      title: '',
      height: 8,
      panels: [
        graph('Compaction', 'Bytes written by compaction.', [target(worst('osd_compaction_bytes_per_second'), '{{ceph_daemon}}')], 'Bps'),
        graph('Write amplification', 'WAL and SST bytes divided by WAL bytes.', [target(worst('osd_db_write_amplification_ratio'), '{{ceph_daemon}}')], 'none'),
        graph('Spillover', 'RocksDB data on the slow device.', [target(worst('osd_slow_used_bytes'), '{{ceph_daemon}}')], 'bytes'),
      ],
    },
    {
      title: 'DB devices',
      height: 8,
      panels: [
        graph('Used', 'Bytes used by RocksDB.', [target(worst('osd_db_used_bytes'), '{{ceph_daemon}}')], 'bytes'),
        graph('Size', 'Size of the dedicated DB device.', [target(worst('osd_db_total_bytes'), '{{ceph_daemon}}')], 'bytes'),
        panel('table', 'Full soonest', 'Forecast time until the DB device is full.', [
          target('bottomk(10, (%s) - time())' % ofOsds('osd_db_full_timestamp_seconds'), '', 'table'),
        ], 's') {
          transformations: [
            { id: 'organize', options: {
              excludeByName: { Time: true, job: true, instance: true },
              renameByName: { ceph_daemon: 'OSD', device_class: 'Device class', Value: 'Full in' },
            } },
          ],
        },
      ],
    },
  ],

  // Grafana's grid is 24 wide; a heading is 1 high.
  local place(done, r) =
    local width = std.floor(24 / std.length(r.panels));
    local heading = if r.title == '' then 0 else 1;
    {
      y: done.y + heading + r.height,
      panels: done.panels
              + (if heading == 1 then [row(r.title) { gridPos: { x: 0, y: done.y, w: 24, h: 1 } }] else [])
              + [
                r.panels[i] { gridPos: { x: i * width, y: done.y + heading, w: width, h: r.height } }
                for i in std.range(0, std.length(r.panels) - 1)
              ],
    },
  local placed = std.foldl(place, rows, { y: 0, panels: [] }).panels,

  local variable(name, label, query) = {
    name: name,
    label: label,
    type: 'query',
    datasource: datasource,
    query: query,
    refresh: 2,
    multi: true,
    includeAll: true,
    // Also matches series without the label.
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
    sort: 3,
  },

  grafanaDashboards+:: {
    'rocksdb-tuner.json': {
      title: 'RocksDB Tuner',
      uid: 'ceph-rocksdb-tuner',
      tags: c.dashboardTags,
      schemaVersion: 38,
      editable: false,
      refresh: '1m',
      time: { from: 'now-6h', to: 'now' },
      timezone: 'browser',
      templating: {
        list: [
          { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {} },
          variable('cluster', 'Cluster', 'label_values(%s, %s)' % [m('mode'), c.clusterLabel]),
          variable('device_class', 'Device class', 'label_values(%s{%s}, device_class)' % [m('device_class_info'), cluster]),
          variable('osd', 'OSD', 'label_values(%s{%s}, ceph_daemon)' % [m('osd_info'), classes]),
        ],
      },
      panels: [placed[i] { id: i + 1 } for i in std.range(0, std.length(placed) - 1)],
    },
  },
}
