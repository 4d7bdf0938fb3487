// Alerts that the health checks of the module do not cover: it is not sampling, an operation makes no
// progress, or a DB device is filling up. Alerts that repeat health checks are a group of their own.
{
  local c = $._config,
  local m(name) = $.metric(name),
  local by = 'by (%s)' % $.labels(),

  local anchor(section) =
    if std.startsWith(section, '{') then section else std.asciiLower(std.strReplace(section, ' ', '-')),
  local documentation(page, section) =
    if c.documentation == ''
    then 'Manual of the RocksDB Tuner, section "%s"' % section
    else '%s/%s/#%s' % [c.documentation, page, anchor(section)],

  // The decisions of the cluster, as health checks name them.
  local decisions =
    '{{ range query %s }} {{ .Labels.who }}: {{ .Labels.do }}: {{ .Labels.next_command }}.{{ end }}' % (
      if c.showMultiCluster
      then '(printf `%s{%s=%%q,next_command!=""}` $labels.%s)' % [m('decision_info'), c.clusterLabel, c.clusterLabel]
      else '`%s{next_command!=""}`' % m('decision_info')
    ),

  local alert(name, expr, for_, severity, summary, description, page, section, oid=null) = {
    alert: name,
    expr: expr,
    [if for_ != null then 'for']: for_,
    labels: {
      severity: severity,
      type: 'ceph_default',
      [if oid != null && c.oid != '' then 'oid']: '%s.%d' % [c.oid, oid],
    },
    annotations: {
      documentation: documentation(page, section),
      summary: summary + $.MultiClusterSummary(),
      description: description,
    },
  },

  local rules = [
    alert(
      'CephRocksDBTunerAbsent',
      |||
        %(known)s unless %(on)s %(mode)s
        or (absent(%(mode)s) unless on () %(known)s)
      ||| % {
        // Also those that have sent nothing since yesterday
        known: 'count %s (last_over_time(%s[1d]))' % [by, m('mode')],
        on: 'on (%s)' % $.labels(),
        mode: m('mode'),
      },
      '15m',
      'warning',
      'No manager exports RocksDB Tuner metrics',
      'Prometheus cannot scrape the RocksDB Tuner. Check that the module is enabled ("ceph mgr module ls"), that its metrics are enabled ("ceph config get mgr mgr/rocksdb_tuner/metrics") and that Prometheus can reach the managers ("ceph mgr services").',
      'prometheus',
      'Metrics',
    ),
    alert(
      'CephRocksDBTunerStale',
      'time() - max %s (%s) > %d' % [by, m('snapshot_timestamp_seconds'), c.staleSeconds],
      '5m',
      'warning',
      'The RocksDB Tuner is not sampling OSDs',
      'The RocksDB Tuner was last updated {{ $value | humanizeDuration }} ago. It is blocked by a monitor or has failed: check "ceph -s" and the log of the active manager.',
      'prometheus',
      'Metrics',
    ),
    alert(
      'CephRocksDBTunerManagerWithoutModule',
      'max %s (%s) > 0' % [by, m('managers_without_module')],
      '1h',
      'warning',
      'The RocksDB Tuner is not installed on a manager host',
      '{{ $value }} manager(s) do not have the module and cannot run it after a failover. "ceph rocksdb-tuner status" lists their hosts: install the module there and restart the manager.',
      'installing',
      'Installing',
    ),
    alert(
      'CephRocksDBTunerDBDeviceFullSoon',
      'min by (%s) (%s) - time() < %d' % [
        $.labels(['ceph_daemon']),
        m('osd_db_full_timestamp_seconds'),
        c.dbFullCriticalSeconds,
      ],
      '1h',
      'critical',
      'The DB device of {{ $labels.ceph_daemon }} will be full soon',
      'At the growth rate of the last three days, the DB device of {{ $labels.ceph_daemon }} is full in {{ $value | humanizeDuration }}, and RocksDB then spills over to the slow device. "ceph rocksdb-tuner osd {{ reReplaceAll "osd." "" $labels.ceph_daemon }}" shows the forecast.' + decisions,
      'monitoring-osds',
      'One OSD',
      oid=2,
    ),
    alert(
      'CephRocksDBTunerRolloutStuck',
      |||
        time() - max %(by)s (%(updated)s) > %(limit)d
        and %(by_on)s
        max %(by)s (%(phase)s{phase!~"done|rolled-back|failed|waiting"}) == 1
      ||| % {
        by: by,
        by_on: 'on (%s)' % $.labels(),
        updated: m('rollout_update_timestamp_seconds'),
        phase: m('rollout_phase'),
        limit: c.rolloutStuckSeconds,
      },
      '5m',
      'warning',
      'A RocksDB Tuner rollout is stuck',
      'The rollout has made no progress for {{ $value | humanizeDuration }}. Check that the mode is not "off", which pauses rollouts ("ceph rocksdb-tuner mode"). "ceph rocksdb-tuner operation status" shows the state of each OSD.',
      'applying',
      'Controlling operations',
    ),
  ],

  // Of what the module raises as health checks too.
  local ofHealthChecks = [
    alert(
      'CephRocksDBTunerFindingError',
      'max by (%s) (%s{severity="error"})' % [$.labels(['finding']), m('finding_osds')],
      '5m',
      'critical',
      'RocksDB Tuner finding {{ $labels.finding }} on {{ $value }} OSD(s)',
      'Data is at risk, or OSDs may not start. "ceph rocksdb-tuner findings" shows the evidence and the remedy.' + decisions,
      'findings',
      '{{ $labels.finding }}',
      oid=1,
    ),
    alert(
      'CephRocksDBTunerFindingWarning',
      'max by (%s) (%s{severity="warning", finding!~"%s"})' % [
        $.labels(['finding']),
        m('finding_osds'),
        std.join('|', c.findingsOfCeph),
      ],
      '1h',
      'warning',
      'RocksDB Tuner finding {{ $labels.finding }} on {{ $value }} OSD(s)',
      '"ceph rocksdb-tuner findings" shows the evidence and the remedy.' + decisions,
      'findings',
      '{{ $labels.finding }}',
    ),
    alert(
      'CephRocksDBTunerRolloutFailed',
      'max %s (%s{phase="failed"}) == 1' % [by, m('rollout_phase')],
      null,
      'critical',
      'A RocksDB Tuner rollout failed',
      '"ceph rocksdb-tuner operation status" shows the reason and the state of each OSD. "ceph rocksdb-tuner rollback" restores the previous configuration.' + decisions,
      'applying',
      'Controlling operations',
      oid=3,
    ),
    alert(
      'CephRocksDBTunerRolloutWaiting',
      'max %s (%s{phase="waiting"}) == 1' % [by, m('rollout_phase')],
      '1h',
      'warning',
      'A RocksDB Tuner rollout is waiting',
      'The rollout is waiting for the operator or for the cluster to become healthy; "ceph rocksdb-tuner operation status" shows the reason.' + decisions,
      'applying',
      'Controlling operations',
    ),
  ],

  healthCheckAlerts:: {
    groups: [{ name: 'rocksdb_tuner health checks', rules: ofHealthChecks }],
  },

  prometheusAlerts+:: {
    groups+: [{ name: 'rocksdb_tuner', rules: rules }]
             + (if c.healthCheckAlerts then $.healthCheckAlerts.groups else []),
  },
}
