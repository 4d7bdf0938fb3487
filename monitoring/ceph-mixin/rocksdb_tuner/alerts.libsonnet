// What a metric tells that is not told by a health check of the module alone: that nothing is
// measured, that a rollout stands still, and which condition is met on how many OSDs.
{
  local c = $._config,
  local m(name) = c.prefix + name,
  local by = 'by (%s)' % c.clusterLabel,
  local onCluster = '{{ with $labels.%s }} on cluster {{ . }}{{ end }}' % c.clusterLabel,

  local alert(name, expr, for_, severity, summary, description, section) = {
    alert: name,
    expr: expr,
    [if for_ != null then 'for']: for_,
    labels: { severity: severity, type: 'ceph_default' },
    annotations: {
      documentation: '%s#%s' % [c.documentation, section],
      summary: summary + onCluster,
      description: description,
    },
  },

  prometheusAlerts+:: {
    groups+: [
      {
        name: 'rocksdb_tuner',
        rules: [
          alert(
            'CephRocksDBTunerAbsent',
            'absent(%s)' % m('mode'),
            '15m',
            'warning',
            'No manager sends the metrics of the RocksDB Tuner',
            'Prometheus gets no metrics of the RocksDB Tuner. Is the module enabled ("ceph mgr module ls"), are its metrics switched on ("ceph config get mgr mgr/rocksdb_tuner/metrics"), and can Prometheus reach the managers ("ceph mgr services")?',
            'metrics',
          ),
          alert(
            'CephRocksDBTunerStale',
            'time() - max %s (%s) > %d' % [by, m('snapshot_timestamp_seconds'), c.staleSeconds],
            '5m',
            'warning',
            'The RocksDB Tuner does not measure',
            'What the RocksDB Tuner shows is {{ $value | humanizeDuration }} old. Its thread waits for a monitor, or failed: look at "ceph -s" and at the log of the active manager.',
            'metrics',
          ),
          alert(
            'CephRocksDBTunerManagerWithoutModule',
            'max %s (%s) > 0' % [by, m('managers_without_module')],
            '1h',
            'warning',
            'A manager lacks the files of the RocksDB Tuner',
            '{{ $value }} manager(s) would not measure if they became active. "ceph rocksdb-tuner status" names their hosts: install the module there and restart the manager.',
            'enabling',
          ),
          alert(
            'CephRocksDBTunerFindingError',
            'max by (%s, finding) (%s{severity="error"})' % [c.clusterLabel, m('finding_osds')],
            '5m',
            'critical',
            'The RocksDB Tuner found {{ $labels.finding }} on {{ $value }} OSD(s)',
            'Data or the start of OSDs is at risk. "ceph rocksdb-tuner findings" has the evidence and the remedy.',
            'looking',
          ),
          alert(
            'CephRocksDBTunerFindingWarning',
            'max by (%s, finding) (%s{severity="warning"})' % [c.clusterLabel, m('finding_osds')],
            '1h',
            'warning',
            'The RocksDB Tuner found {{ $labels.finding }} on {{ $value }} OSD(s)',
            '"ceph rocksdb-tuner findings" has the evidence and the remedy.',
            'looking',
          ),
          alert(
            'CephRocksDBTunerDBDeviceFullSoon',
            'min by (%s, ceph_daemon) (%s) - time() < %d' % [
              c.clusterLabel,
              m('osd_db_full_timestamp_seconds'),
              c.dbFullCriticalSeconds,
            ],
            '1h',
            'critical',
            'The DB device of {{ $labels.ceph_daemon }} will be full soon',
            'By its growth over the last day the DB device of {{ $labels.ceph_daemon }} is full in {{ $value | humanizeDuration }}; RocksDB then spills to the slow device. "ceph rocksdb-tuner osd {{ reReplaceAll "osd." "" $labels.ceph_daemon }}" has the forecast with its interval.',
            'looking',
          ),
          alert(
            'CephRocksDBTunerRolloutFailed',
            'max %s (%s{phase="failed"}) == 1' % [by, m('rollout_phase')],
            null,
            'critical',
            'A rollout of the RocksDB Tuner failed',
            '"ceph rocksdb-tuner rollout status" says why, and what each OSD runs. "ceph rocksdb-tuner rollback" restores what was there before.',
            'changing',
          ),
          alert(
            'CephRocksDBTunerRolloutWaiting',
            'max %s (%s{phase="waiting"}) == 1' % [by, m('rollout_phase')],
            '1h',
            'warning',
            'A rollout of the RocksDB Tuner waits',
            'It waits for an operator or for the cluster to become healthy; "ceph rocksdb-tuner rollout status" says which.',
            'changing',
          ),
          alert(
            'CephRocksDBTunerRolloutStuck',
            |||
              time() - max %(by)s (%(updated)s) > %(limit)d
              and %(by_on)s
              max %(by)s (%(phase)s{phase!~"done|rolled-back|failed|waiting"}) == 1
            ||| % {
              by: by,
              by_on: 'on (%s)' % c.clusterLabel,
              updated: m('rollout_update_timestamp_seconds'),
              phase: m('rollout_phase'),
              limit: c.rolloutStuckSeconds,
            },
            '5m',
            'warning',
            'A rollout of the RocksDB Tuner does not move',
            'Nothing of it has changed for {{ $value | humanizeDuration }}. Is the mode "off", in which a rollout stands still ("ceph rocksdb-tuner mode")? "ceph rocksdb-tuner rollout status" shows where it is.',
            'changing',
          ),
        ],
      },
    ],
  },
}
