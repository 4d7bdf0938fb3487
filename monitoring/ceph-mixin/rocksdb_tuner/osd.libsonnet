// The dashboard of a single OSD, which lines and rows of the cluster's dashboard link to.
{
  local c = $._config,
  local series(name) = $.series(name, 'ceph_daemon="$osd"'),
  local line(name, legend) = $.target(series(name), legend),

  osdDashboard:: 'ceph-rocksdb-tuner-osd',

  local rows = [
    {
      title: '$osd',
      height: 4,
      panels: [
        $.stat('Workload', 'Workload of the clients.', series('osd_info'), 'none', $.neutral, '{{workload}}'),
        $.stat('Options', 'Profile of the running options; empty if they match none.', series('osd_info'), 'none', $.neutral, '{{profile}}'),
        $.stat('Restart pending', '1 if the configured options need a restart to take effect.', 'max(%s)' % series('osd_restart_pending'), 'none', $.bad('orange')),
        $.stat('DB device full in', 'Forecast at the growth rate of the last three days.', 'min(%s) - time()' % series('osd_db_full_timestamp_seconds'), 's', [
          { color: 'red', value: null },
          { color: 'orange', value: c.dbFullCriticalSeconds },
          { color: 'green', value: 30 * 86400 },
        ]),
        $.stat('Data age', 'Time since the last report of the OSD.', 'time() - max(%s)' % series('osd_report_timestamp_seconds'), 's', $.bad('orange', c.staleSeconds)),
      ],
    },
    {
      title: 'Latency',
      height: 8,
      panels: [
        $.graph('Write latency', 'Mean latency of client writes and of their stages.', [
          line('osd_client_write_seconds', 'Client write'),
          line('osd_commit_seconds', 'Commit'),
          line('osd_kv_sync_seconds', 'kv_sync'),
          line('osd_kv_flush_seconds', 'Device flush'),
        ], 's'),
        $.graph('kv_sync utilization', 'Share of time that the kv_sync thread is busy.', [
          line('osd_kv_sync_busy_ratio', 'kv_sync'),
        ], 'percentunit', 1),
        $.graph('Client operations', 'Client operations per second.', [
          line('osd_client_writes_per_second', 'Writes'),
          line('osd_client_reads_per_second', 'Reads'),
        ], 'ops'),
      ],
    },
    {
      title: 'RocksDB',
      height: 8,
      panels: [
        $.graph('Writes', 'Bytes written by clients and by BlueFS. SST includes compaction.', [
          line('osd_client_write_bytes_per_second', 'Clients'),
          line('osd_wal_bytes_per_second', 'WAL'),
          line('osd_sst_bytes_per_second', 'SST'),
          line('osd_compaction_bytes_per_second', 'Compaction'),
          line('osd_slow_bytes_per_second', 'Slow device'),
        ], 'Bps'),
        $.graph('Write amplification', 'WAL and SST bytes divided by WAL bytes.', [
          line('osd_db_write_amplification_ratio', 'Write amplification'),
        ], 'none'),
        $.graph('DB device', 'Bytes used by RocksDB, and the size of the dedicated DB device.', [
          line('osd_db_used_bytes', 'Used'),
          line('osd_slow_used_bytes', 'On the slow device'),
          line('osd_db_total_bytes', 'Size'),
        ], 'bytes'),
      ],
    },
  ],

  grafanaDashboards+:: {
    'rocksdb-tuner-osd.json': $.dashboard('RocksDB Tuner: OSD', $.osdDashboard, [
      $.addTemplateSchema('osd', 'label_values(%s, ceph_daemon)' % $.series('osd_info'), 'OSD', sort=3),
    ], rows),
  },
}
