// The dashboard of a cluster: its device classes, findings and busiest OSDs.
{
  local c = $._config,
  local series = $.series,
  local chosen = 'device_class=~"$device_class"',

  // A per-OSD metric, filtered by the variables of the dashboard.
  local ofOsds(name) =
    '%s * on (%s) group_left (device_class) %s' % [
      series(name, 'ceph_daemon=~"$osd"'),
      $.labels(['instance', 'ceph_daemon']),
      series('osd_info', chosen),
    ],
  // Thousands of lines would be unreadable.
  local worst(title, description, name, unit, max=null) =
    $.graph(title, description, [$.target('topk(10, %s)' % ofOsds(name), '{{ceph_daemon}}')], unit, max) {
      fieldConfig+: { defaults+: { links: [$.osdLink('__field.labels.ceph_daemon')] } },
    },
  local ofClasses(name) = 'max by (device_class) (%s)' % series(name, chosen),

  local rows = [
    {
      title: 'Cluster',
      height: 4,
      panels: [
        $.stat('Mode', 'Current mode of the module.', series('mode') + ' == 1', 'none', $.neutral, '{{mode}}'),
        $.stat('Errors', 'Findings with severity error.', 'max(%s)' % series('findings', 'severity="error"'), 'none', $.bad('red')),
        $.stat('Warnings', 'Findings with severity warning.', 'max(%s)' % series('findings', 'severity="warning"'), 'none', $.bad('orange')),
        $.stat('Recommendations', 'Recommended changes.', 'max(sum by (instance) (%s))' % series('recommendations'), 'none', $.bad('blue')),
        $.stat('Rollout', 'Phase of the last rollout.', series('rollout_phase') + ' == 1', 'none', $.neutral, '{{phase}}'),
        $.stat('Experiment', 'Phase of the last experiment.', series('experiment_phase') + ' == 1', 'none', $.neutral, '{{phase}}'),
        $.stat('Data age', 'Time since the last update by the module.', 'time() - max(%s)' % series('snapshot_timestamp_seconds'), 's', $.bad('orange', c.staleSeconds)),
      ],
    },
    {
      title: 'Device classes',
      height: 8,
      panels: [
        $.table(
          'Workload and options',
          'Workload and options of the OSDs in each device class.',
          series('device_class_info', chosen),
          { device_class: 'Device class', workload: 'Workload', profile: 'Profile' },
        ),
        $.table(
          'Findings',
          'Findings and the number of affected OSDs.',
          'max by (finding, severity) (%s)' % series('finding_osds'),
          { finding: 'Finding', severity: 'Severity', Value: 'OSDs' },
        ),
      ],
    },
    {
      title: '',
      height: 8,
      panels: [
        $.graph('Busiest kv_sync thread', 'At 100% this thread limits the writes of an OSD.', [
          $.target(ofClasses('device_class_kv_sync_busy_max_ratio'), '{{device_class}}'),
        ], 'percentunit', 1),
        $.graph('RocksDB writes', 'Bytes that BlueFS writes on all OSDs. SST includes compaction.', [
          $.target(ofClasses('device_class_wal_bytes_per_second'), '{{device_class}} WAL'),
          $.target(ofClasses('device_class_sst_bytes_per_second'), '{{device_class}} SST'),
          $.target(ofClasses('device_class_compaction_bytes_per_second'), '{{device_class}} compaction'),
        ], 'Bps'),
        $.graph('Fullest DB device', 'Usage of the DB device by RocksDB.', [
          $.target(ofClasses('device_class_db_used_max_ratio'), '{{device_class}}'),
        ], 'percentunit', 1),
      ],
    },
    {
      title: 'Top 10 OSDs',
      height: 8,
      panels: [
        worst('kv_sync duration', 'Mean duration of a kv_sync round.', 'osd_kv_sync_seconds', 's'),
        worst('kv_sync utilization', 'Share of time that the kv_sync thread is busy.', 'osd_kv_sync_busy_ratio', 'percentunit', 1),
        worst('Commit latency', 'Mean time until a transaction is durable.', 'osd_commit_seconds', 's'),
      ],
    },
    {
      title: '',
      height: 8,
      panels: [
        worst('Compaction', 'Bytes written by compaction.', 'osd_compaction_bytes_per_second', 'Bps'),
        worst('Write amplification', 'WAL and SST bytes divided by WAL bytes.', 'osd_db_write_amplification_ratio', 'none'),
        worst('Spillover', 'RocksDB data on the slow device.', 'osd_slow_used_bytes', 'bytes'),
      ],
    },
    {
      title: 'DB devices',
      height: 8,
      panels: [
        worst('DB used', 'Bytes used by RocksDB.', 'osd_db_used_bytes', 'bytes'),
        worst('DB device size', 'Size of the dedicated DB device.', 'osd_db_total_bytes', 'bytes'),
        $.table(
          'Full soonest',
          'Forecast time until the DB device is full.',
          'bottomk(10, (%s) - time())' % ofOsds('osd_db_full_timestamp_seconds'),
          { ceph_daemon: 'OSD', device_class: 'Device class', Value: 'Full in' },
          's',
        ) {
          fieldConfig+: { defaults+: { links: [$.osdLink('__data.fields.OSD')] } },
        },
      ],
    },
  ],

  grafanaDashboards+:: {
    'rocksdb-tuner.json': $.dashboard('RocksDB Tuner', 'ceph-rocksdb-tuner', [
      $.addTemplateSchema(
        'device_class',
        'label_values(%s, device_class)' % series('device_class_info'),
        'Device class',
        includeAll=true,
        multi=true,
      ),
      $.addTemplateSchema(
        'osd',
        'label_values(%s, ceph_daemon)' % series('osd_info', chosen),
        'OSD',
        includeAll=true,
        multi=true,
        sort=3,
      ),
    ], rows),
  },
}
