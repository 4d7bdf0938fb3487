// Made from the answers of the module: see `make answers`. Not to be changed by hand.

/** Jobs that may run at once. */
export interface Background {
  flushes: number;
  compactions: number;
}

/** The part that takes the most. */
export interface Bottleneck {
  /** Name of the part. */
  part: string;
  /** Its milliseconds. */
  ms: number;
  /** Of the whole, 0..1. */
  share: number | null;
  /** What that means. */
  statement: string;
}

/** A compaction campaign: old data get what a change gave new ones. */
export interface Campaign {
  /** As in history. */
  id: string;
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** Whose OSDs are compacted. */
  who: string;
  /** Who asked for it. */
  actor: string;
  /** Where it is. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** How many OSDs of one failure domain compact at once. */
  parallel: number;
  /** When it started. ISO 8601, UTC. */
  started: string | null;
  /** When it last changed. ISO 8601, UTC. */
  updated: string | null;
  /** Why no further OSD starts; null where nothing holds it up. */
  paused_reason: string | null;
  /** What it waits for, and how long so far: an OSD that compacts, or does not answer. null: nothing. */
  waits_for: string | null;
  /** How it ended; null before that. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What happened, where it did not go as planned. */
  failure: string | null;
  /** Client write latency before anything was compacted; null where nobody wrote. */
  baseline_ms: number | null;
  /** Of all OSDs that are measured before and after. */
  used_before_bytes: number | null;
  /** The same after. */
  used_after_bytes: number | null;
  /** How far each OSD is. */
  osds: OsdCompaction[];
}

/** A compaction campaign under way. */
export interface CampaignSummary {
  /** As in history. */
  id: string;
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** Whose OSDs are compacted. */
  who: string;
  /** Where it is. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** How many OSDs it is about. */
  osds_total: number;
  /** How many of them are compacted, or left as they are. */
  osds_finished: number;
  /** Why no further OSD starts; null where nothing holds it up. */
  paused_reason: string | null;
  /** What it waits for, and how long so far: an OSD that compacts, or does not answer. null: nothing. */
  waits_for: string | null;
}

/** How long the first changed OSD is watched; most_s 0: not at all. */
export interface CanarySoak {
  /** At least this long. Of the first OSD: soak_min, and three times fill_s as far as soak_max allows. */
  least_s: number | null;
  /** At most this long; 0: not at all. */
  most_s: number | null;
  /** What follows where the time is over without a verdict. */
  inconclusive: 'wait' | 'promote' | 'rollback';
  /** From one flush of memtables to the next under the load at the time, by the model, in the slower of the two option strings; null: not known. */
  fill_s: number | null;
  /** What follows where the first changed OSD got no worse, but no better either. */
  no_benefit: 'wait' | 'promote' | 'rollback';
  /** The same for each batch after the first OSD; null: these are not watched. */
  batches: SoakTime | null;
}

/** An option string that was weighed. */
export interface Candidate {
  /** Name of the profile; of a neighbor the option that differs. */
  name: string;
  /** "running": what runs; "default": of the release; "derived": from the published goals, for these OSDs; "neighbor": one option changed. */
  origin: 'running' | 'default' | 'profile' | 'derived' | 'neighbor';
  /** Name of the profile; null: it is none. */
  profile: string | null;
  /** Option string. */
  options: string;
  /** Whether it is the one that the group should run. */
  chosen: boolean;
  /** Why it is out of the question, in sentences; empty: it is not. */
  infeasible: string[];
  /** What it would do to each resource; empty for what runs and for what is infeasible. */
  effects: ResourceEffect[];
  /** Why it is not chosen, as a sentence; null for the chosen one, for what runs and for what is infeasible. */
  short: string | null;
}

/** One change: by whom, from what to what, and what came of it. */
export interface Change {
  /** Id of the rollout. */
  id: string;
  /** When it started. ISO 8601, UTC. */
  time: string | null;
  /** Id of the recommendation. */
  recommendation: string;
  /** Mask of the config store. */
  who: string;
  /** Option that is changed: the string, or the annex that OSDs append to it. */
  option: string;
  /** Option string before. */
  from: string;
  /** Option string after. */
  to: string;
  /** Who asked for it. */
  actor: string;
  /** How it ended; "waiting": not yet. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting';
  /** What happened, where it did not go as planned. */
  reason: string | null;
  /** What was predicted, in words; null for nothing. */
  prediction: string | null;
  /** The same in numbers; null for nothing. */
  predicted_effect: PredictedEffect | null;
  /** What was measured, in words; null for nothing. */
  measured: string | null;
  /** null: nothing was judged, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** What was judged: "better" where what was predicted improved, "no-worse" where nothing got worse and that is all; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** By how much the first OSD moved more than those it was compared with. */
  measured_effects: SignalEffect[];
  /** The prediction beside the measurement; null where there is nothing to compare. */
  comparison: Comparison | null;
}

/** One option string, checked for the release where it does worst. */
export interface Check {
  /** The string as it was given. */
  options: string;
  /** The release that the answer is about. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  /** Whether an OSD would start with it; null where that cannot be told. */
  accepted: boolean | null;
  /** Every known option with the value that would be in effect; empty where the string is not accepted. */
  effective: Record<string, string>;
  /** Worst first. */
  problems: Problem[];
  /** All releases that were checked, the worst first. */
  releases: CheckedRelease[];
  /** What the answer assumes because it is not known, in sentences. */
  assumptions: string[];
}

/** The result for one release. */
export interface CheckedRelease {
  /** Name of the release. */
  release: string;
  /** First point release with these defaults. */
  since: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  /** As above. */
  accepted: boolean | null;
  /** How many problems are errors. */
  errors: number;
  /** How many are warnings. */
  warnings: number;
  /** The OSDs that run it; empty where the release was only requested. */
  osds: number[];
  /** bluestore_rocksdb_options_annex of these OSDs, which Ceph appends to the string; it is checked with it. */
  annex: string;
}

/** One option of a derived string. */
export interface Choice {
  /** Name of the option. */
  option: string;
  /** Its value. */
  value: string;
  /** Why it was chosen. */
  why: string;
  /** Where that is known from. */
  source: string;
}

/** The shards of one column. */
export interface ColumnFamily {
  /** Its name. */
  column: string;
  /** Column families of it. */
  shards: number;
  /** write_buffer_size */
  write_buffer_bytes: number;
  max_write_buffer_number: number;
  min_write_buffer_number_to_merge: number;
  /** Of one shard. */
  memtable_ceiling_bytes: number;
  /** Of memtables that are full. */
  full_flush_bytes: Estimate;
  /** Part of all writes that one shard gets. */
  share: number | null;
  /** Of one flush under this workload. */
  expected_flush_bytes: Estimate | null;
  /** What triggers flushes. */
  flushed_by: 'memtables' | 'wal' | null;
  /** Of a file in level 0. */
  level0_file_bytes: Estimate | null;
  /** Writes of clients to the OSD from one flush to the next. */
  writes_per_flush: number | null;
  /** Keys in one flush. */
  keys_per_flush: number | null;
  /** From one flush to the next. */
  flush_every_s: number | null;
}

/** A column of the database, and into how many column families it is sharded. */
export interface ColumnShards {
  /** Its name; "default" for what is in no other. */
  column: string;
  /** Column families of it. */
  shards: number;
}

/** Two option strings, option by option. */
export interface Compared {
  /** Release that they are compared for. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  from: ComparedSide;
  to: ComparedSide;
  /** Sides that no OSD of the release starts with. */
  refused: string[];
  /** Sides of which it cannot be told whether an OSD starts with them. */
  not_judged: string[];
  /** What differs. */
  changes: ComparedOption[];
}

/** One option of two strings. */
export interface ComparedOption {
  /** Name of the option. */
  option: string;
  /** null: left at its default. */
  written_from: string | null;
  /** null: left at its default. */
  written_to: string | null;
  /** null: not known. */
  effective_from: string | null;
  /** null: not known. */
  effective_to: string | null;
  /** Both sides write the same of it: it follows from what else they write. */
  follows: boolean;
  /** null: the catalogue does not have the option. */
  meaning: string | null;
  /** When an expert would touch it. */
  change_when: string | null;
  /** When an expert would leave it alone. */
  leave_when: string | null;
  /** Where that is known from. */
  source: string | null;
}

/** One of two option strings. */
export interface ComparedSide {
  /** Name of the profile, or of the OSD. */
  name: string;
  /** bluestore_rocksdb_options, of an OSD with the annex. */
  options: string;
}

/** A prediction beside the measurement. */
export interface Comparison {
  /** The signal in which the prediction shows. */
  signal: string;
  /** What the prediction means for this signal. */
  predicted_low_percent: number | null;
  /** The other end. */
  predicted_high_percent: number | null;
  /** Change of the signal. */
  measured_percent: number | null;
  /** The interval of that. */
  measured_low_percent: number | null;
  /** The other end. */
  measured_high_percent: number | null;
  /** right: the intervals meet; direction: they do not, but it went the way that was predicted. */
  result: 'right' | 'direction' | 'wrong';
}

/** CPU time that RocksDB takes, in microseconds. */
export interface Cpu {
  /** For each KiB in the WAL. */
  us_per_wal_kib: Estimate;
  /** For each write of a client. */
  us_per_write: Estimate;
  /** Of the kv_sync thread. */
  kv_sync_us_per_wal_kib: number;
  /** Of flushes. */
  flushes_us_per_wal_kib: number;
  /** Of compactions. */
  compactions_us_per_wal_kib: number;
  /** Compressing and decompressing, in flushes and compactions. */
  compression_us_per_wal_kib: number;
}

/** Why it is dangerous to set an option. */
export interface Danger {
  /** "forbidden": the module never sets it. */
  level: 'forbidden' | 'caution';
  /** Why. */
  why: string;
}

/** What of the database is on its dedicated device. */
export interface DbDevice {
  /** Its size. */
  total_bytes: number;
  /** What BlueStore tells RocksDB of. */
  usable_bytes: number;
  /** The highest level that goes to it whole; null: none does. */
  last_level: number | null;
  /** Those levels with level 0. */
  levels_bytes: number;
  /** Open to higher levels, file by file. */
  extra_bytes: number;
  /** For neither. */
  unused_bytes: number;
  /** bluestore_volume_selection_policy */
  policy: string;
  /** Whether the present data fit. */
  holds_data: boolean | null;
}

/** What was weighed for one group, and the result. */
export interface Decision {
  /** Mask of the config store that addresses the group. */
  who: string;
  /** What is to be relieved; null: nothing was weighed. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | null;
  /** The result, as a sentence. */
  conclusion: string;
  /** By so much less the resource must be used, with 80% probability. */
  min_gain_percent: number;
  /** By no more than this any other resource may be used more, with 80% probability. */
  max_loss_percent: number;
  /** Resources of which the OSDs may have plenty: more use of them keeps nothing back. */
  unconstrained: ('kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory')[];
  /** What was weighed. */
  candidates: Candidate[];
}

/** What the RocksDB of an OSD says of itself. */
export interface Deep {
  /** When this was so. ISO 8601, UTC. */
  time: string | null;
  /** Since when RocksDB counts: it was opened this long ago. */
  uptime_s: number | null;
  /** For how long writes were held up. */
  stalled_s: number | null;
  /** In the block cache. */
  block_cache_bytes: number | null;
  /** In memtables. */
  memtable_bytes: number | null;
  /** RocksDB's own counts; null where the OSD started without rocksdb_perf. */
  totals: Totals | null;
  /** Those that the release shows: all from Tentacle on, before only "default". */
  column_families: DeepColumnFamily[];
  /** Options that were switched on for this look. */
  switched_on: string[];
  /** Those that could not be restored yet: it is tried again. */
  not_put_back: string[];
}

/** One column family. */
export interface DeepColumnFamily {
  /** As in bluestore_rocksdb_cfs, with the shard: "O-0". */
  name: string;
  /** Files in all levels. */
  files: number | null;
  /** Their size. */
  size_bytes: number | null;
  /** Bytes that flushes and compaction wrote over bytes that flushes did; null where nothing was flushed. */
  write_amp: number | null;
  /** Written by flushes since the OSD started; null where that is less than RocksDB shows. */
  flush_bytes: number | null;
  /** Written by flushes and compaction; rounded by RocksDB. */
  compaction_write_bytes: number | null;
  /** Read by compaction; rounded by RocksDB. */
  compaction_read_bytes: number | null;
  /** How often writes were slowed or stopped, by RocksDB's reason. */
  stalls: Record<string, number>;
  /** Those that have files. */
  levels: DeepLevel[];
}

/** One level of a column family. */
export interface DeepLevel {
  /** 0 is the level of flushes. */
  level: number;
  /** Files in it. */
  files: number | null;
  /** Their size. */
  size_bytes: number | null;
  /** Above 1 it waits for compaction. */
  score: number | null;
  /** Read by compaction since the OSD started; rounded by RocksDB. */
  read_bytes: number | null;
  /** Written by compaction, or by flushes, since the OSD started; rounded by RocksDB. */
  write_bytes: number | null;
  /** Bytes written over bytes that came from above. */
  write_amp: number | null;
  /** Since the OSD started. */
  compactions: number | null;
}

/** An option string with the reason of each choice. */
export interface Derived {
  /** bluestore_rocksdb_options */
  options: string;
  /** The profile that it means the same as. */
  equals: string | null;
  /** The profile that it differs least from. */
  nearest: string;
  /** From the nearest profile to here. */
  differences: OptionChange[];
  /** null: no OSD was named. */
  osd: number | null;
  /** Its release. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  /** What was known; null is not known. */
  inputs: Inputs;
  /** What is assumed in place of what is not known. */
  assumptions: string[];
  /** Each with its reason. */
  choices: Choice[];
}

/** A level by its dynamic target. */
export interface DynamicLevel {
  /** From 1. */
  level: number;
  /** Its target. */
  target_bytes: number;
}

/** level_compaction_dynamic_level_bytes */
export interface DynamicLevels {
  /** Whether the options ask for it. */
  requested: boolean | null;
  /** Whether it is in effect. */
  in_effect: boolean | null;
  /** Why it is not in effect although requested. */
  why: string | null;
  /** Targets for the present data if it were in effect. */
  levels: DynamicLevel[];
}

/** A prediction with the interval that held 80% of the measurements. */
export interface Estimate {
  low: number;
  value: number;
  high: number;
}

/** A measured value that a conclusion rests on. */
export interface Evidence {
  /** Name of the signal, or "pools" for the applications of the pools. */
  signal: string;
  /** Measured value, in the given unit. */
  value: number | null;
  /** Unit of the value. */
  unit: string;
  /** Seconds over which it was measured. */
  window_s: number | null;
  /** What the value means, as a sentence. */
  statement: string;
}

/** The CRUSH bucket in which a placement group has at most one copy. */
export interface FailureDomain {
  /** CRUSH type: host, rack, ...; osd where each OSD is a domain by itself. */
  type: string;
  /** Name of the bucket, or of the OSD. */
  name: string;
}

/** An entry of the config store. */
export interface FinalEntry {
  /** Whom it is for. */
  who: string;
  /** null where the entry goes. */
  value: string | null;
}

/** A condition that an expert would report. */
export interface Finding {
  /** Stable name of the condition. */
  id: string;
  /** How bad it is. */
  severity: 'error' | 'warning' | 'info';
  /** What was found, as a sentence. */
  summary: string;
  /** The OSDs concerned. */
  osds: number[];
  /** What it was found from. */
  evidence: FindingEvidence[];
  /** What to do about it. */
  remedy: string;
  /** The exact commands of the remedy, where there are any. */
  commands: string[];
  /** What would make it worse; null where nothing is known to. */
  do_not: string | null;
  /** Where the condition is documented or was measured. */
  source: string;
}

/** How many findings there are, by severity. */
export interface FindingCounts {
  error: number;
  warning: number;
  info: number;
}

/** Something measured or read. */
export interface FindingEvidence {
  /** What was measured or read. */
  signal: string;
  /** The value, in the given unit; null if not known. */
  value: unknown;
  /** Unit or kind of the value. */
  unit: string;
  /** Seconds over which it was measured; null for a state. */
  window_s: number | null;
}

/** When a DB device will be full. */
export interface Forecast {
  /** What can be said. */
  outlook: 'not-enough-history' | 'not-growing' | 'beyond-horizon' | 'filling' | 'spilled';
  /** Of the newest point; the times below count from it. */
  time: string | null;
  /** Seconds of history. */
  history_s: number | null;
  /** Points in it. */
  points: number;
  /** Median slope. */
  growth_bytes_per_day: number | null;
  /** Lower end of its interval (90%). */
  growth_low_bytes_per_day: number | null;
  /** Upper end. */
  growth_high_bytes_per_day: number | null;
  /** Seconds until the device is full; null unless it is filling. */
  full_in_s: number | null;
  /** At the earliest. */
  full_earliest_s: number | null;
  /** At the latest. */
  full_latest_s: number | null;
}

/** What a quantity is calculated from. */
export interface Formula {
  /** What is calculated. */
  quantity: string;
  /** How. */
  formula: string;
  /** Where that is known from. */
  source: string;
}

/** The OSDs of one device class. */
export interface Group {
  /** Mask of the config store that addresses the group. */
  who: string;
  /** Ids of OSDs. */
  osds: number[];
  workload: WorkloadSummary;
  /** What bounds the clients of the group now. */
  limit: Limit;
  options: GroupOptions;
  /** What was concluded for the group; says why where nothing is recommended. */
  conclusion: string | null;
}

/** What the OSDs of a group run. */
export interface GroupOptions {
  /** Known profile that all of them run; null if they differ or run none that is known. */
  profile: string | null;
  /** What decides the running value: "default", "mon", "file", "env", "cmdline" or "override". null if that differs or is not known. */
  source: string | null;
  /** OSDs whose configured options need a restart to take effect. */
  pending_restart: number[];
  /** What runs, the most frequent first; OSDs whose options are not known are in none. */
  variants: Variant[];
}

/** The clients of the OSDs of one device class. */
export interface GroupWorkload {
  /** Mask of the config store that addresses the group. */
  who: string;
  /** Ids of OSDs. */
  osds: number[];
  workload: Workload;
  /** What bounds the clients of the group now. */
  limit: Limit;
}

/** The points that the forecast is made of. */
export interface Growth {
  /** Id of an OSD. */
  osd: number;
  /** Seconds since the epoch, oldest first. */
  time_s: number[];
  /** Used on the DB device at each of these times. */
  used_bytes: number[];
  /** Size of the DB device; null without a dedicated one, or where nothing was seen. */
  total_bytes: number | null;
  /** When its DB device will be full; null without a dedicated one. */
  forecast: Forecast | null;
}

/** What was known of the OSD; null: not known. */
export interface Inputs {
  /** What clients do. */
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown' | null;
  /** The measured load that stands for the workload. */
  measured_as: string | null;
  /** Bytes written into the database a second. */
  wal_bytes_per_s: number | null;
  /** Mean size of a key with its value. */
  bytes_per_key: number | null;
  /** All that BlueFS uses. */
  data_bytes: number | null;
  /** Objects that clients write to; null where what is written does not depend on them, or no OSD was named. */
  objects: Objects | null;
  /** osd_memory_target */
  memory_target_bytes: number | null;
  /** Of the OSD. */
  cores: number | null;
  /** Whether the DB has a dedicated device. */
  dedicated_db: boolean | null;
  /** Whether the WAL has a dedicated device. */
  dedicated_wal: boolean | null;
  /** Size of the DB device. */
  db_device_bytes: number | null;
  /** Size of the WAL device. */
  wal_device_bytes: number | null;
  /** Size of the data device. */
  main_device_bytes: number | null;
  /** As in bluestore_rocksdb_cfs. */
  column_families: ColumnShards[];
}

/** What a verdict rests on. */
export interface Judgment {
  /** Whether it was judged better. */
  better: boolean;
  /** What the change did to each signal. */
  signals: SignalEffect[];
  /** What a verdict lacks, in words. */
  missing: string[];
  /** What decided it beside the signals. */
  cause: string | null;
}

/** A measured value that a class rests on. */
export interface KeptEvidence {
  signal: string;
  value: number;
  unit: string;
  window_s: number;
  statement: string;
}

/** How much of a DB device was used, oldest first, and the device at the last of the times. */
export interface KeptGrowth {
  times_s: number[];
  used_bytes: number[];
  total_bytes: number;
  slow_used_bytes: number;
}

/** One ceph-mgr of the cluster. */
export interface KeptManager {
  name: string;
  /** null: it has not told. */
  host: string | null;
  active: boolean;
  /** Whether it found this module's files when it started. */
  has_module: boolean;
}

/** What is believed, and what may replace it. */
export interface KeptMemory {
  believed: KeptWorkload;
  candidate: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Since when the candidate is seen. */
  since_s: number;
  /** Since when another class than the believed one is seen. */
  doubted_s: number;
}

/** What clients did to a pool. */
export interface KeptPoolRates {
  reads_per_s: number;
  read_bytes_per_s: number;
  writes_per_s: number;
  write_bytes_per_s: number;
}

/** The last absence of an OSD that was watched from one process to the next. */
export interface KeptStart {
  /** It was away for at least so long, in seconds. */
  away_s: number;
  /** And for at most so long. */
  away_most_s: number;
  /** Whether most OSDs of its host were away with it; null: no other one was there to tell. */
  host_away: boolean | null;
}

/** What the module knows that no command of Ceph tells. */
export interface KeptState {
  /** Seconds since the epoch. */
  taken_s: number;
  /** When the OSDs were last sampled. */
  sampled_s: number;
  mode: 'off' | 'observe' | 'recommend' | 'auto-apply';
  manager_version: string;
  manager_release: string;
  managers: KeptManager[];
  interval_s: number;
  tick_ms: number | null;
  /** Whether an orchestrator can restart daemons. */
  orchestrated: boolean;
  rollout_under_way: boolean;
  /** Thresholds of conditions, by module option. */
  limits: Record<string, number>;
  /** What is wrong with what the module keeps. */
  notices: string[];
  /** Since when OSDs have been waiting for a restart. */
  pending_since_s: Record<string, number>;
  /** The workload that is advised on, by device class. */
  advised_on: Record<string, KeptWorkload>;
  workloads_of_osds: Record<string, KeptMemory>;
  workloads_of_groups: Record<string, KeptMemory>;
  /** What clients did to each pool, by its id, when the OSDs were last sampled. */
  pool_rates: Record<string, KeptPoolRates>;
  /** Used bytes of DB devices, of which forecasts are made. */
  growth: Record<string, KeptGrowth>;
  /** The last absence of each OSD that was watched from one process to the next. */
  starts: Record<string, KeptStart>;
}

/** What clients do, and how that is known. */
export interface KeptWorkload {
  class: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  confidence: number;
  evidence: KeptEvidence[];
}

/** An option that is known. */
export interface KnownOption {
  /** Name of the option. */
  option: string;
  /** "db": the whole database, "cf": each column family, "ceph": Ceph's own key of the string, "neighbour": an option beside the string. */
  scope: 'db' | 'cf' | 'ceph' | 'neighbour';
  /** Type of its value. */
  type: string;
  /** Unit of its value; null: none. */
  unit: string | null;
  /** What it does. */
  meaning: string;
  /** Whether it is dangerous to set; null: no. */
  danger: 'forbidden' | 'caution' | null;
}

/** A value that an option may have. */
export interface KnownValue {
  /** As it is written. */
  name: string;
  /** Whether an OSD starts with it. */
  starts: boolean;
  /** First RocksDB version that has it; null: all known. */
  since: string | null;
}

/** The last absence that was watched from one process to the next. */
export interface LastStart {
  /** It was away for at least so long, in seconds. */
  away_s: number | null;
  /** And for at most so long. */
  away_most_s: number | null;
  /** Whether most OSDs of its host were away with it; null: no other one was there to tell. */
  host_away: boolean | null;
}

/** One part of the way of a write. */
export interface LatencyPart {
  /** Stable name, "kv-queue". */
  part: string;
  /** The part that contains it; null for the whole. */
  within: string | null;
  /** Mean in milliseconds; null where the release does not send it. */
  ms: number | null;
  /** Of the whole; null where that is not known. */
  share: number | null;
  /** Where it comes from. */
  signal: string;
}

/** A level by its static target. */
export interface Level {
  /** From 1. */
  level: number;
  /** Of one column family. */
  target_bytes: number;
  /** Level 1 to this one. */
  cumulative_bytes: number;
  /** With level 0, taken as large as level 1. */
  cumulative_with_level0_bytes: number;
  /** null: no dedicated DB device, or not known. */
  on_db_device: boolean | null;
}

/** The level of flushes. */
export interface Level0 {
  /** Files that trigger a compaction. */
  files: number;
  /** write_buffer_size x min_write_buffer_number_to_merge x level0_file_num_compaction_trigger. */
  bytes: number;
  /** Its size over that of level 1. */
  ratio_to_level1: number | null;
}

/** What bounds clients now. */
export interface Limit {
  /** "none": of what is measured, nothing bounds them; "unknown": too little is known. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | 'data-device' | 'network' | 'none' | 'unknown';
  /** 0..1; 0 for "unknown". */
  confidence: number;
  /** What was measured that supports it. */
  evidence: Evidence[];
}

/** One ceph-mgr of the cluster. */
export interface Manager {
  /** The manager's name, without "mgr.". */
  name: string;
  /** Where it runs; null where it did not report that. */
  host: string | null;
  /** Whether it is the active one. */
  active: boolean;
  /** Whether it found the files of this module when it started. */
  has_module: boolean;
}

/** Memory of memtables. */
export interface Memtables {
  /** By their number alone. */
  ceiling_bytes: number;
  /** What the limit of the WAL leaves of that. */
  bounded_bytes: Estimate;
  /** What gives that bound. */
  bounded_by: 'max_write_buffer_number' | 'wal' | 'db_write_buffer_size';
  /** osd_memory_target */
  memory_target_bytes: number | null;
  /** What they take of it. */
  share_of_memory_target: number | null;
}

/** How much the module may do. */
export interface ModeInForce {
  /** The mode in force. */
  mode: 'off' | 'observe' | 'recommend' | 'auto-apply';
  /** All modes. */
  possible: ('off' | 'observe' | 'recommend' | 'auto-apply')[];
}

/** What an option string makes of an OSD's RocksDB. */
export interface Model {
  /** bluestore_rocksdb_options */
  options: string;
  /** Name of the profile that the options are. */
  profile: string | null;
  /** null: no OSD was named. */
  osd: number | null;
  /** Its release. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  /** What was known; null is not known. */
  inputs: Inputs;
  /** What is assumed in place of what is not known. */
  assumptions: string[];
  wal: Wal;
  memtables: Memtables;
  /** By column. */
  column_families: ColumnFamily[];
  level0: Level0;
  /** From level 1 on. */
  levels: Level[];
  dynamic_level_bytes: DynamicLevels;
  /** null: no dedicated DB device, or not known. */
  db_device: DbDevice | null;
  /** When RocksDB would hold up writes. */
  stalls: Stall[];
  background: Background;
  /** (WAL + flushes + compactions) / WAL bytes; the interval held 80% of the comparisons. */
  write_amplification: Estimate | null;
  /** Of the write amplification, what flushes write. */
  flush_bytes_per_wal_byte: number | null;
  /** Of the write amplification, what compactions write. */
  compaction_bytes_per_wal_byte: number | null;
  /** Of the kv_sync thread for a write, as a part of what it takes with memtables of 256 MiB; null where the workload is not known. */
  kv_sync_time: Estimate | null;
  /** Of the kv_sync thread, flushes and compactions, on the processor that was measured; null where workload or size of the database is not known, or the compression was not measured. */
  cpu: Cpu | null;
  /** SST bytes over what a full compaction leaves of them. */
  space_amplification: Estimate | null;
  /** How the quantities are calculated. */
  sources: Formula[];
  /** What the measured parameters and intervals come from. */
  measured: string;
}

/** A text for every OSD. */
export interface Named {
  /** Each text that there is, once; null: not known, or none. */
  names: (string | null)[];
  /** Which of them each OSD has. */
  index: number[];
}

/** A recommendation that auto-apply does not apply yet. */
export interface NotApplied {
  /** Its id. */
  recommendation: string;
  /** Why. */
  not_yet_because: string;
}

/** Objects that clients write to. */
export interface Objects {
  /** Before anything was measured: up to what the database has room for. */
  prior: Estimate;
  /** With the write amplification that the OSD measured; null where that tells nothing. */
  fitted: Estimate | null;
}

/** A rollout or a compaction campaign; null: not kept once others followed it. */
export interface Operation {
  /** As in history. */
  id: string;
  /** What is done to the OSDs. */
  kind: 'rollout' | 'compaction';
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** Mask of the config store. */
  who: string;
  /** Who asked for it. */
  actor: string;
  /** Whether it has not ended. */
  under_way: boolean;
  /** Where it stands. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed' | null;
  /** Why it waits; null where it does not. */
  paused_reason: string | null;
  /** How it ended; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What happened, where it did not go as planned. */
  failure: string | null;
  /** OSDs that it is about. */
  osds_total: number | null;
  /** OSDs that it has dealt with. */
  osds_finished: number | null;
  /** When it started. */
  started: string | null;
  /** When it was last seen to change. */
  updated: string | null;
}

/** The operation under way, or the last one. */
export interface OperationInView {
  /** As in history. */
  id: string;
  /** What is done to the OSDs. */
  kind: 'rollout' | 'compaction';
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** Mask of the config store. */
  who: string;
  /** Who asked for it. */
  actor: string;
  /** Whether it has not ended. */
  under_way: boolean;
  /** Where it stands. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed' | null;
  /** Why it waits; null where it does not. */
  paused_reason: string | null;
  /** How it ended; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What happened, where it did not go as planned. */
  failure: string | null;
  /** OSDs that it is about. */
  osds_total: number | null;
  /** OSDs that it has dealt with. */
  osds_finished: number | null;
  /** When it started. */
  started: string | null;
  /** When it was last seen to change. */
  updated: string | null;
  /** What a campaign waits for that nothing holds up. */
  waits_for: string | null;
  /** In the order of the plan. */
  osds: OsdInOperation[];
}

/** All that is known of one option. */
export interface Option {
  /** Name of the option. */
  option: string;
  /** "db": the whole database, "cf": each column family, "ceph": Ceph's own key of the string, "neighbour": an option beside the string. */
  scope: 'db' | 'cf' | 'ceph' | 'neighbour';
  /** Type of its value. */
  type: string;
  /** Unit of its value; null: none. */
  unit: string | null;
  /** What it does. */
  meaning: string;
  /** Whether it is dangerous to set; null: no. */
  danger: Danger | null;
  /** By RocksDB version, of an option beside the string by release; null where it is not known. */
  defaults: Record<string, string | null>;
  /** By RocksDB version, why setting it changes nothing; null where it has an effect. */
  no_effect: Record<string, string | null>;
  /** RocksDB moves smaller values up to this. */
  minimum: number | null;
  /** RocksDB moves larger values down to this. */
  maximum: number | null;
  /** Where it has a fixed set of values. */
  values: KnownValue[];
  /** Values that are wise; null: not known. */
  sane: SaneRange | null;
  /** Whether the module may set it at all. */
  set_by_module: boolean;
  /** Whether an OSD must restart for it. */
  needs_restart: boolean;
  /** Where that is known from. */
  source: string;
  /** When an expert would touch it. */
  change_when: string;
  /** When an expert would leave it alone. */
  leave_when: string;
  /** Since when it should not be used; null where it may be. */
  deprecated: string | null;
  /** RocksDB could change it while it runs; Ceph offers no way. */
  mutable_in_rocksdb: boolean;
  /** "restart": at the next start of the OSD; "mkfs": only when an OSD is made. */
  takes_effect: 'at-once' | 'restart' | 'mkfs';
  /** Of a struct. */
  members: StructMember[];
}

/** One option that differs. */
export interface OptionChange {
  /** Name of a RocksDB option. */
  option: string;
  /** Value before; null where it is not set. */
  from: string | null;
  /** Value after; null where it is not set. */
  to: string | null;
}

/** An option with a value. */
export interface OptionValue {
  /** Name of the option. */
  option: string;
  /** Its value. */
  value: string;
}

/** What an OSD runs, and what it would run after its next start. */
export interface OptionsInFull {
  /** Name of the known profile that it runs; null if none or not known. */
  profile: string | null;
  /** True where the configured options need a restart to take effect. */
  pending_restart: boolean | null;
  /** What decides the running value: "default", "mon", "file", "env", "cmdline" or "override". */
  source: string | null;
  /** Effective option string that runs, annex included. */
  running: string | null;
  /** Option string that it would run after its next start; null if that cannot be told. */
  next_start: string | null;
  /** Entry of the config store that decides for it. */
  deciding_who: string | null;
  /** True where ceph.conf, the environment or the command line beats the config store. */
  overruled: boolean | null;
  /** Part of the strings that is bluestore_rocksdb_options_annex. */
  annex: string | null;
  /** What a restart would change; null if not known. */
  difference: OptionChange[] | null;
}

/** How far one OSD is. */
export interface OsdCompaction {
  /** Id of an OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Of the OSD; null: not known. */
  failure_domain: FailureDomain | null;
  /** How far it is. */
  step: 'pending' | 'compacting' | 'settling' | 'done' | 'skipped';
  /** Space used by its DB before. */
  used_before_bytes: number | null;
  /** And after. */
  used_after_bytes: number | null;
  /** The highest client write latency of the cluster while it compacted. */
  latency_ms: number | null;
  /** Why it was skipped. */
  reason: string | null;
}

/** All that is known of one OSD. */
export interface OsdDetail {
  /** Id of an OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Device class, from the CRUSH map. */
  device_class: string | null;
  /** Whether the OSD is up. */
  up: boolean;
  /** Whether the OSD is in. */
  in_cluster: boolean;
  /** By the CRUSH rules of the pools that store data on it, else its host; null: not known. */
  failure_domain: FailureDomain | null;
  /** Version, "16.2.15". */
  version: string | null;
  /** Release, "pacific". */
  release: string | null;
  /** Object store, "bluestore". */
  objectstore: string | null;
  /** Whether the DB has a dedicated device. */
  dedicated_db: boolean | null;
  /** Whether the WAL has a dedicated device. */
  dedicated_wal: boolean | null;
  /** Size of the dedicated DB device in bytes. */
  db_device_bytes: number | null;
  /** Age of the newest report that was used, in seconds. */
  sample_age_s: number | null;
  /** Mean duration of one round of the kv_sync thread, in milliseconds. */
  kv_sync_ms: number | null;
  /** Time inside kv_sync over wall time, 0..1. */
  kv_sync_busy: number | null;
  /** Mean time until a transaction is durable, in milliseconds. */
  commit_ms: number | null;
  /** Client writes per second. */
  write_iops: number | null;
  /** Client reads per second. */
  read_iops: number | null;
  /** Mean size of a client write, in bytes. */
  write_bytes_avg: number | null;
  /** Bytes that BlueFS wrote to RocksDB's WAL, per second. */
  wal_bytes_per_s: number | null;
  /** Bytes that BlueFS wrote to SST files, per second. */
  sst_bytes_per_s: number | null;
  /** Bytes that compaction wrote, per second. */
  compaction_bytes_per_s: number | null;
  /** How the bytes of compaction are known: from RocksDB's own statistics, or from SST and WAL bytes. */
  compaction_source: 'measured' | 'estimated' | null;
  /** (WAL + SST bytes) / WAL bytes over the long window. */
  db_write_amp: number | null;
  /** True where DB and data share a device, so that there is no limit of the DB alone. */
  db_device_shared: boolean | null;
  /** Bytes that the DB takes on its device. */
  db_used_bytes: number | null;
  /** Size of the DB device in bytes; null where it is shared with the data. */
  db_total_bytes: number | null;
  /** Bytes of the DB on the slow device. */
  slow_used_bytes: number | null;
  /** Length of the window of the rates and means, in seconds. */
  window_s: number | null;
  /** Mean duration of the device flush in kv_sync, in milliseconds. */
  kv_flush_ms: number | null;
  /** Client class calls that read and write, per second. */
  rw_iops: number | null;
  /** Bytes of client writes per second. */
  write_bytes_per_s: number | null;
  /** Bytes of client reads per second. */
  read_bytes_per_s: number | null;
  /** Bytes that client class calls wrote, per second. */
  rw_bytes_per_s: number | null;
  /** Mean size of a client read, in bytes. */
  read_bytes_avg: number | null;
  /** Mean latency of a client write, in milliseconds. */
  op_w_latency_ms: number | null;
  /** Recovery operations per second. */
  recovery_ops_per_s: number | null;
  /** Bytes of recovery per second. */
  recovery_bytes_per_s: number | null;
  /** Bytes of the WAL and SST files that went to the slow device, per second. */
  slow_bytes_per_s: number | null;
  /** WAL bytes per byte of client writes. */
  wal_bytes_per_client_byte: number | null;
  /** WAL bytes per client write. */
  wal_bytes_per_write_op: number | null;
  /** Seconds over which compaction was observed. */
  compaction_window_s: number | null;
  /** Length of the long window, in seconds. */
  db_write_amp_window_s: number | null;
  /** Bytes that the WAL takes on its device. */
  wal_used_bytes: number | null;
  /** Size of the WAL device in bytes. */
  wal_total_bytes: number | null;
  /** Size of the slow device in bytes. */
  slow_total_bytes: number | null;
  /** Whether its RocksDB is sharded into column families. */
  sharded: boolean | null;
  /** Mean time to place an iterator in RocksDB, in milliseconds; null before Reef. */
  omap_seek_ms: number | null;
  /** Memory that it has mapped; null without tcmalloc. */
  memory_mapped_bytes: number | null;
  /** Target of its memory autotuning. */
  memory_target_bytes: number | null;
  /** Share of the time in which RocksDB held up writes, 0..1; null without RocksDB's statistics. */
  write_stall_share: number | null;
  /** Where the time of a client's write goes; null before two close looks. */
  write_latency: WriteLatency | null;
  /** When its DB device will be full; null without a dedicated one. */
  forecast: Forecast | null;
  /** Its last absence that the active manager watched from one process to the next; null: none. */
  last_start: LastStart | null;
  workload: Workload;
  options: OptionsInFull;
  /** The findings that concern it. */
  findings: Finding[];
  /** Ids of the recommendations that concern it. */
  recommendations: string[];
  /** What its RocksDB says of itself; null unless requested by --deep. */
  deep: Deep | null;
  /** What the model says of the OSD as it runs; null where it has none of its options, its workload or its database. */
  model: OsdModel | null;
  /** What bounds the clients of this OSD now. */
  limit: Limit;
}

/** How far one OSD is. */
export interface OsdInOperation {
  /** Id of an OSD. */
  osd: number;
  /** As in rollout status, by the kind of the operation. */
  step: string;
  /** Why it was left as it is; null where it was not. */
  reason: string | null;
}

/** By columns: every list, and every index, has as many items as osds. */
export interface OsdMap {
  /** When this was so. ISO 8601, UTC. */
  time: string | null;
  /** Ids of OSDs. */
  osds: number[];
  /** Whether the OSD is up. */
  up: boolean[];
  /** Names of their hosts. */
  hosts: Named;
  /** Device classes, from the CRUSH map. */
  device_classes: Named;
  /** Workload classes. */
  workloads: Named;
  /** Names of the profiles that run. */
  profiles: Named;
  /** Where the options come from. */
  sources: Named;
  /** Whether the options in force need a restart to take effect. */
  pending_restart: (boolean | null)[];
  /** Mean duration of one round of the kv_sync thread. */
  kv_sync_ms: (number | null)[];
  /** Time inside kv_sync over wall time. */
  kv_sync_busy: (number | null)[];
  /** How full the DB device is; null where there is no dedicated one. */
  db_used_ratio: (number | null)[];
  /** Whether a part of the DB is on the slow device. */
  spilled: (boolean | null)[];
}

/** What the model says of an OSD as it runs. */
export interface OsdModel {
  /** Predicted, beside db_write_amp. */
  write_amplification: Estimate;
  /** Objects that clients write to; null where what is written does not depend on them. */
  objects: Objects | null;
}

/** What one OSD does. */
export interface OsdRow {
  /** Id of an OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Device class, from the CRUSH map. */
  device_class: string | null;
  /** Whether the OSD is up. */
  up: boolean;
  workload: WorkloadSummary;
  /** Age of the newest report that was used, in seconds. */
  sample_age_s: number | null;
  /** Mean duration of one round of the kv_sync thread, in milliseconds. */
  kv_sync_ms: number | null;
  /** Time inside kv_sync over wall time, 0..1. */
  kv_sync_busy: number | null;
  /** Mean time until a transaction is durable, in milliseconds. */
  commit_ms: number | null;
  /** Client writes per second. */
  write_iops: number | null;
  /** Client reads per second. */
  read_iops: number | null;
  /** Mean size of a client write, in bytes. */
  write_bytes_avg: number | null;
  /** Bytes that BlueFS wrote to RocksDB's WAL, per second. */
  wal_bytes_per_s: number | null;
  /** Bytes that BlueFS wrote to SST files, per second. */
  sst_bytes_per_s: number | null;
  /** Bytes that compaction wrote, per second. */
  compaction_bytes_per_s: number | null;
  /** How the bytes of compaction are known: from RocksDB's own statistics, or from SST and WAL bytes. */
  compaction_source: 'measured' | 'estimated' | null;
  /** (WAL + SST bytes) / WAL bytes over the long window. */
  db_write_amp: number | null;
  /** True where DB and data share a device, so that there is no limit of the DB alone. */
  db_device_shared: boolean | null;
  /** Bytes that the DB takes on its device. */
  db_used_bytes: number | null;
  /** Size of the DB device in bytes; null where it is shared with the data. */
  db_total_bytes: number | null;
  /** Bytes of the DB on the slow device. */
  slow_used_bytes: number | null;
  options: RunningOptions;
}

/** The clients of one OSD. */
export interface OsdWorkload {
  /** Id of an OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Device class, from the CRUSH map. */
  device_class: string | null;
  /** Whether the OSD is up. */
  up: boolean;
  workload: Workload;
}

/** The answers to several commands at once. */
export interface Overview {
  status: Status;
  osd: OsdRow[];
  workload: Workloads;
  findings: Finding[];
  recommend: Recommendation[];
}

/** What `apply` would do. */
export interface Plan {
  /** Id of the recommendation. */
  recommendation: string;
  /** What it does. */
  kind: 'set-profile' | 'remove-override';
  /** Mask of the config store that holds the setting at the end. */
  who: string;
  /** Profile that would run; null where it is no known one. */
  profile: string | null;
  /** Of the change. */
  risk: 'low' | 'medium' | 'high';
  /** Option string that would run. */
  options_to: string;
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands that restore what was there before. */
  undo_commands: string[];
  /** OSDs in the order in which they would be changed, in batches of at most one failure domain; each is watched before the next. */
  batches: PlannedBatch[];
  /** The OSD that is changed first and judged; null: nothing is judged. */
  canary: number | null;
  /** Ids of the OSDs that it is compared with. */
  controls: number[];
  /** What the change is for: "gain" where one is predicted, which the first changed OSD has to show; else "safety". */
  purpose: 'gain' | 'safety';
  /** How long the first changed OSD is watched; most_s 0: not at all. */
  soak: CanarySoak;
  /** What must hold before each restart. */
  gates: string[];
  /** Seconds that it takes at least, if nothing has to wait. */
  expected_duration_s: number;
  /** The same where the soak takes as long as it may. */
  expected_duration_most_s: number;
}

/** OSDs that would be changed before others follow. */
export interface PlannedBatch {
  /** Ids of OSDs. */
  osds: number[];
  /** The failure domain that all of them are in; null: not known. */
  failure_domain: FailureDomain | null;
  phase: 'planned';
  /** Ids of the OSDs that it is compared with; empty: there are too few, and it is watched for crashes only. */
  controls: number[];
}

/** A predicted change of one metric. */
export interface PredictedEffect {
  /** What would change. */
  metric: string;
  /** Change in percent. */
  low_percent: number | null;
  /** The other end. */
  high_percent: number | null;
}

/** What a change does to one signal. */
export interface Prediction {
  /** What would change. */
  metric: string;
  /** As osd names what is measured of it. */
  signal: string;
  /** What is most likely, in percent. */
  estimate_percent: number;
  /** Lower end of the expected change, in percent. */
  low_percent: number;
  /** Upper end of the expected change, in percent. */
  high_percent: number;
  /** The published measurement, or the model, that it rests on. */
  basis: string;
}

/** Something that is wrong, or unwise, in an option string. */
export interface Problem {
  /** "error": an OSD would not start, or it is dangerous. */
  severity: 'error' | 'warning' | 'info';
  /** Id of the rule; stable. */
  rule: string;
  /** null where it is about the string as a whole. */
  option: string | null;
  /** What is wrong. */
  message: string;
  /** Where that is known from. */
  source: string;
}

/** For what hardware a profile is. */
export interface ProfileHardware {
  /** With this many cores or fewer for each OSD a loss was published. */
  loses_at_cores_per_osd: number | null;
  /** What else is known. */
  notes: string[];
}

/** A profile with whom it suits and what was published of it. */
export interface ProfileInFull {
  /** Name of the profile. */
  name: string;
  /** What it is, in a few words. */
  title: string;
  /** bluestore_rocksdb_options, word for word as published. */
  options: string;
  /** Releases whose default it is. */
  release_defaults: string[];
  /** Workloads for which it was made. */
  workloads: ('idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown')[];
  /** Why it should no longer be used; null where it may. */
  superseded: string | null;
  /** Where it was published. */
  source: string;
  /** An operator added it; the module never recommends it. */
  own: boolean;
  /** Releases that a custom profile is for; empty for a built-in one. */
  own_releases: string[];
  /** For what it is suited. */
  suitability: Suitability[];
  hardware: ProfileHardware;
  /** What was measured and published. */
  evidence: Published[];
  /** What to look out for. */
  cautions: string[];
  /** RocksDB version from which it is superseded. */
  superseded_from_rocksdb: string | null;
}

/** A profile, in short. */
export interface ProfileSummary {
  /** Name of the profile. */
  name: string;
  /** What it is, in a few words. */
  title: string;
  /** bluestore_rocksdb_options, word for word as published. */
  options: string;
  /** Releases whose default it is. */
  release_defaults: string[];
  /** Workloads for which it was made. */
  workloads: ('idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown')[];
  /** Why it should no longer be used; null where it may. */
  superseded: string | null;
  /** Where it was published. */
  source: string;
  /** An operator added it; the module never recommends it. */
  own: boolean;
  /** Releases that a custom profile is for; empty for a built-in one. */
  own_releases: string[];
}

/** A published measurement. */
export interface Published {
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** What was measured. */
  metric: string;
  /** Unit of the values. */
  unit: string;
  /** What it was compared with. */
  baseline: string;
  /** null where only the change was published. */
  baseline_value: number | null;
  /** Options in effect in the baseline; a prediction goes by the figure only where they are in effect. */
  baseline_options: OptionValue[];
  /** What was measured. */
  value: number;
  /** Change against the baseline, in percent. */
  change_percent: number;
  /** Hardware and load of the measurement. */
  setup: string;
  /** Releases that it was measured on; empty where that is not known. */
  releases: string[];
  /** Hardware that it was measured on; empty where that is not known. */
  hardware: ('nvme' | 'ssd-db+hdd' | 'hdd')[];
  /** The figure that predictions go by. */
  headline: boolean;
  source: Source;
}

/** Why something should change. */
export interface Reason {
  /** One sentence. */
  statement: string;
  /** Where that is known from. */
  source: string;
}

/** A recommendation, and what it was chosen from. */
export interface Recommendation {
  /** The same advice keeps its id. */
  id: string;
  /** Mask of the config store that holds the setting at the end. */
  who: string;
  /** "manual": a remedy that no configuration change gives. */
  kind: 'set-profile' | 'remove-override' | 'compact' | 'manual';
  /** Profile that would run; null where it is no known one. */
  profile: string | null;
  /** OSDs in the order in which they would be changed. */
  osds: number[];
  /** Option that is changed: the string, or the annex that OSDs append to it. */
  option: string;
  /** Option string that runs now. */
  options_from: string;
  /** Option string that would run. */
  options_to: string;
  /** Why. */
  reasons: Reason[];
  /** What the change does: first what was published of just this change, on such hardware and release, then what the model says; null where neither is known. */
  prediction: Prediction[] | null;
  /** Of the change. */
  risk: 'low' | 'medium' | 'high';
  /** In the workload that is the reason; null where no workload is. */
  confidence: number | null;
  /** What bounds the clients under the workload that was advised on; null where neither counted. */
  limit: Limit | null;
  /** Whether the OSDs must restart. */
  restart_required: boolean;
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands that restore what was there before. */
  undo_commands: string[];
  /** What it was chosen from, as "candidates" shows it; null where nothing was weighed for it. */
  candidates: Candidate[] | null;
}

/** A recommendation, and how it would be applied. */
export interface RecommendationInFull {
  /** The same advice keeps its id. */
  id: string;
  /** Mask of the config store that holds the setting at the end. */
  who: string;
  /** "manual": a remedy that no configuration change gives. */
  kind: 'set-profile' | 'remove-override' | 'compact' | 'manual';
  /** Profile that would run; null where it is no known one. */
  profile: string | null;
  /** OSDs in the order in which they would be changed. */
  osds: number[];
  /** Option that is changed: the string, or the annex that OSDs append to it. */
  option: string;
  /** Option string that runs now. */
  options_from: string;
  /** Option string that would run. */
  options_to: string;
  /** Why. */
  reasons: Reason[];
  /** What the change does: first what was published of just this change, on such hardware and release, then what the model says; null where neither is known. */
  prediction: Prediction[] | null;
  /** Of the change. */
  risk: 'low' | 'medium' | 'high';
  /** In the workload that is the reason; null where no workload is. */
  confidence: number | null;
  /** What bounds the clients under the workload that was advised on; null where neither counted. */
  limit: Limit | null;
  /** Whether the OSDs must restart. */
  restart_required: boolean;
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands that restore what was there before. */
  undo_commands: string[];
  /** What each OSD shall run. */
  targets: Target[];
  /** What the config store holds at the end. */
  final_entries: FinalEntry[];
  /** What changes, option by option; null where one of the strings cannot be parsed. */
  difference: OptionChange[] | null;
  /** How apply would apply it; null where no rollout does. */
  plan: Steps | null;
}

/** All that is known, as one document. */
export interface Report {
  /** What this document is. */
  format: 'ceph-rocksdb-tuner-report';
  /** Of this form. */
  version: 1;
  /** Whether the names of hosts and addresses were replaced. */
  anonymous: boolean;
  /** What a folder for `python3 -m rocksdb_tuner.offline` holds: content by name of the file. Only what is looked at is in it. */
  files: ReportFiles;
}

/** The content of each file, by its name. */
export interface ReportFiles {
  'module.json': KeptState;
  /** `ceph osd dump`, without addresses. */
  'osd_dump.json': Record<string, unknown>;
  /** `ceph osd crush dump`: device classes, buckets, and how rules choose among them. */
  'osd_crush_dump.json': Record<string, unknown>;
  /** `ceph osd metadata`. */
  'osd_metadata.json': unknown[];
  /** `ceph config dump`, of the options that are watched. */
  'config_dump.json': unknown[];
  /** `ceph health`: the codes of the checks that are raised. */
  'health.json': Record<string, unknown>;
  /** `ceph rocksdb-tuner history`. */
  'history.json': Change[];
  /** `ceph rocksdb-tuner rollout status`. */
  'rollout.json': Rollout | null;
  [name: string]: unknown;
}

/** What an option string would do to the use of one resource. */
export interface ResourceEffect {
  /** What is used. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory';
  /** Change of its use against what runs; negative: less is used, which is better. */
  estimate_percent: number;
  /** Lower end of the 80% interval. */
  low_percent: number;
  /** Upper end of the 80% interval. */
  high_percent: number;
}

/** The rollout under way or the last one, and the compaction campaign. */
export interface Rollout {
  /** Id of the rollout. */
  id: string;
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** What it does. */
  kind: 'set-profile' | 'remove-override';
  /** Where it is. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Mask of the config store that the change is about. */
  who: string;
  /** Option that is changed: the string, or the annex that OSDs append to it. */
  option: string;
  /** Who asked for it. */
  actor: string;
  /** How many OSDs it is about. */
  osds_total: number;
  /** How many of them it has dealt with to the end. */
  osds_finished: number;
  /** null: nothing was judged, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** What was judged: "better" where what was predicted improved, "no-worse" where nothing got worse and that is all; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** When it started. ISO 8601, UTC. */
  started: string | null;
  /** When it last changed. ISO 8601, UTC. */
  updated: string | null;
  /** Why it waits; null while it does not. */
  paused_reason: string | null;
  /** How it ended; null before that. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What happened, where it did not go as planned. */
  failure: string | null;
  /** OSDs in the order in which they are changed, in batches; each is watched before the next. */
  batches: RolloutBatch[];
  /** What the change is for: "gain" where one is predicted, which the first changed OSD has to show; else "safety". */
  purpose: 'gain' | 'safety';
  /** How long the first changed OSD is watched; most_s 0: not at all. */
  soak: Watch;
  /** What the verdict rests on; null: nothing was judged. */
  judgement: Judgment | null;
  /** The same for the batch after the first OSD that is watched; null: nothing was judged of it yet. */
  batch_judgement: Judgment | null;
  /** "recover": one OSD failed and is restored; "back": everything is rolled back. */
  direction: 'forward' | 'recover' | 'back';
  /** Who asked for a pause. */
  paused_by: string | null;
  /** What the last failed action answered. */
  last_error: string | null;
  /** How far each OSD is. */
  osds: RolloutOsd[];
  /** The compaction campaign under way or the last one; null before the first. */
  campaign: Campaign | null;
}

/** OSDs that are changed before others follow. */
export interface RolloutBatch {
  /** Ids of OSDs. */
  osds: number[];
  /** The failure domain that all of them are in; null: not known. */
  failure_domain: FailureDomain | null;
  /** Where it is. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** null: nothing was judged, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** What was judged: "better" where what was predicted improved, "no-worse" where nothing got worse and that is all; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** Ids of the OSDs that it is compared with; empty: there are too few, and it is watched for crashes only. */
  controls: number[];
}

/** How far one OSD is. */
export interface RolloutOsd {
  /** Id of an OSD. */
  osd: number;
  /** How far it is. */
  step: 'pending' | 'setting' | 'restart-due' | 'restarting' | 'checking' | 'settling' | 'verified' | 'collapsing' | 'shielding' | 'collapsed' | 'restoring' | 'restored' | 'left-behind';
  /** Why the rollout goes on without it; null where it does not. */
  left_reason: string | null;
  /** Option string that it ran before. */
  from: string | null;
  /** Option string that it shall run. */
  to: string | null;
  /** How often a restart was requested. */
  restarts_asked: number;
  /** How often it went down again after it had come up. */
  flaps: number;
}

/** The rollout under way or the last one. */
export interface RolloutSummary {
  /** Id of the rollout. */
  id: string;
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** What it does. */
  kind: 'set-profile' | 'remove-override';
  /** Where it is. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Mask of the config store that the change is about. */
  who: string;
  /** Option that is changed: the string, or the annex that OSDs append to it. */
  option: string;
  /** Who asked for it. */
  actor: string;
  /** How many OSDs it is about. */
  osds_total: number;
  /** How many of them it has dealt with to the end. */
  osds_finished: number;
  /** null: nothing was judged, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** What was judged: "better" where what was predicted improved, "no-worse" where nothing got worse and that is all; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** When it started. ISO 8601, UTC. */
  started: string | null;
  /** When it last changed. ISO 8601, UTC. */
  updated: string | null;
  /** Why it waits; null while it does not. */
  paused_reason: string | null;
  /** How it ended; null before that. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What happened, where it did not go as planned. */
  failure: string | null;
}

/** What an OSD runs. */
export interface RunningOptions {
  /** Name of the known profile that it runs; null if none or not known. */
  profile: string | null;
  /** True where the configured options need a restart to take effect. */
  pending_restart: boolean | null;
  /** What decides the running value: "default", "mon", "file", "env", "cmdline" or "override". */
  source: string | null;
}

/** How OSDs are sampled. */
export interface Sampling {
  /** Seconds between two samples; null where nothing is sampled, as by offline. */
  interval_s: number | null;
  /** OSDs with at least one usable sample. */
  osds: number;
  /** Age of the newest sample, in seconds. */
  last_sample_age_s: number | null;
  /** CPU time of the last sampling and evaluating, in milliseconds. */
  tick_ms: number | null;
}

/** Values that are wise. */
export interface SaneRange {
  minimum: number;
  maximum: number;
  /** Why not beyond. */
  why: string;
}

/** What a change did to one signal. */
export interface SignalEffect {
  /** A name of knowledge/judged_signals.json. */
  signal: string;
  /** "unclear": there is too little data. */
  effect: 'better' | 'same' | 'worse' | 'unclear';
  /** By how much more than its controls the OSD moved; null: not known. */
  change_percent: number | null;
  /** The interval of that; null: the data do not bound it. */
  low_percent: number | null;
  /** The other end of the interval. */
  high_percent: number | null;
}

/** How long OSDs are watched after a change. */
export interface SoakTime {
  /** At least this long. Of the first OSD: soak_min, and three times fill_s as far as soak_max allows. */
  least_s: number | null;
  /** At most this long; 0: not at all. */
  most_s: number | null;
  /** What follows where the time is over without a verdict. */
  inconclusive: 'wait' | 'promote' | 'rollback';
}

/** Where something was published. */
export interface Source {
  /** Title. */
  title: string;
  /** Author. */
  author: string;
  /** Year. */
  year: number;
  /** Where in it. */
  section: string;
  /** Address; null: none. */
  url: string | null;
}

/** When RocksDB holds up writes. */
export interface Stall {
  /** Of what. */
  cause: 'memtables' | 'level0-files' | 'pending-compaction-bytes';
  /** What it does then. */
  effect: 'slowdown' | 'stop';
  /** From where on. */
  limit: number;
  /** Where it stands in normal work; null: the size of the database is not known. */
  normal: number | null;
  /** Between the two. */
  headroom: number | null;
  /** What the busiest column family takes before it comes, at least. */
  headroom_bytes: number | null;
  /** That, at the present rate, with flushes or compactions standing still. */
  headroom_s: number | null;
}

/** The whole on one screen. */
export interface Status {
  /** When this was so. ISO 8601, UTC. */
  time: string | null;
  /** How much the module may do. */
  mode: 'off' | 'observe' | 'recommend' | 'auto-apply';
  /** Release of the active mgr; null where the module does not know it. */
  release: string | null;
  /** Version of the module. */
  version: string;
  sampling: Sampling;
  /** OSDs by device class. */
  groups: Group[];
  /** Number of findings by severity. */
  findings: FindingCounts;
  /** Number of recommendations. */
  recommendations: number;
  /** The rollout under way or the last one; null before the first. */
  rollout: RolloutSummary | null;
  /** The compaction campaign under way; null where none is. */
  campaign: CampaignSummary | null;
  /** In mode auto-apply: why each recommendation is not applied by itself yet. */
  auto_apply: NotApplied[];
  /** Predictions against outcomes of all changes that ended. */
  track_record: TrackRecord;
  /** The active manager and the standbys, as far as they are known. */
  managers: Manager[];
  /** What an operator must know of the module itself. */
  notices: string[];
}

/** How a recommendation would be applied. */
export interface Steps {
  /** OSDs in the order in which they would be changed, in batches of at most one failure domain; each is watched before the next. */
  batches: PlannedBatch[];
  /** The OSD that is changed first and judged; null: nothing is judged. */
  canary: number | null;
  /** Ids of the OSDs that it is compared with. */
  controls: number[];
  /** What the change is for: "gain" where one is predicted, which the first changed OSD has to show; else "safety". */
  purpose: 'gain' | 'safety';
  /** How long the first changed OSD is watched; most_s 0: not at all. */
  soak: CanarySoak;
  /** What must hold before each restart. */
  gates: string[];
  /** Seconds that it takes at least, if nothing has to wait. */
  expected_duration_s: number;
  /** The same where the soak takes as long as it may. */
  expected_duration_most_s: number;
}

/** A member of an option that is a struct. */
export interface StructMember {
  /** Name of the member. */
  name: string;
  /** Type of its value; "ignored": RocksDB reads none. */
  type: string;
  /** By RocksDB version. */
  defaults: Record<string, string>;
}

/** For what a profile is suited. */
export interface Suitability {
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Oldest RocksDB version. */
  rocksdb_min: string;
  /** Newest RocksDB version; null for all later ones. */
  rocksdb_max: string | null;
  /** Holds only where it is the release's own default. */
  only_as_release_default: boolean;
  /** 0..1: compares profiles for one workload and release; no probability. */
  score: number;
  /** Why. */
  reasons: string[];
}

/** What one OSD shall run. */
export interface Target {
  /** Id of an OSD. */
  osd: number;
  /** Option string that it shall run. */
  options: string;
  /** Of the OSD; null: not known. */
  failure_domain: FailureDomain | null;
}

/** RocksDB's own counts. */
export interface Totals {
  /** Over all column families, since the OSD started. */
  compact_read_bytes: number | null;
  /** Over all column families, since the OSD started. */
  compact_write_bytes: number | null;
  /** Over all column families, since the OSD started. */
  flush_write_bytes: number | null;
  /** Over all column families, since the OSD started. */
  wal_bytes: number | null;
}

/** Predictions against outcomes of all changes that ended. */
export interface TrackRecord {
  /** Changes that ended. */
  changes: number;
  /** Those with a prediction and a measurement that can be compared with it. */
  compared: number;
  /** The measured interval meets the predicted one. */
  right: number;
  /** It does not, but the change went the way that was predicted. */
  direction: number;
  /** Neither. */
  wrong: number;
  /** Measured values that lay in the predicted interval. */
  held: number;
  /** Width of the predicted intervals, in points of percent; null where none was compared. */
  mean_width_percent: number | null;
  /** Mean interval score of the predictions at 80%: width, and ten times what a measured value lies outside. Less is better. */
  interval_score: number | null;
  /** The same of a forecast that nothing changes. */
  naive_interval_score: number | null;
}

/** What one OSD, or those of one device class, did. */
export interface Trend {
  /** Id of an OSD; null for a device class. */
  osd: number | null;
  /** Name of the device class; null for an OSD. */
  device_class: string | null;
  /** Seconds since the epoch, oldest first. */
  time_s: number[];
  /** Mean duration of one round of the kv_sync thread. */
  kv_sync_ms: (number | null)[];
  /** Time inside kv_sync over wall time. */
  kv_sync_busy: (number | null)[];
  /** Mean time until a transaction is durable. */
  commit_ms: (number | null)[];
  /** Client writes a second. */
  write_iops: (number | null)[];
  /** Written to the write-ahead log. */
  wal_bytes_per_s: (number | null)[];
  /** Written to SST files. */
  sst_bytes_per_s: (number | null)[];
  /** Written by compaction. */
  compaction_bytes_per_s: (number | null)[];
  /** WAL and SST bytes over WAL bytes. */
  db_write_amp: (number | null)[];
  /** Used on the DB device. */
  db_used_bytes: (number | null)[];
}

/** OSDs that run the same profile from the same source. */
export interface Variant {
  /** Known profile; null if it is none that is known. */
  profile: string | null;
  /** What decides the running value: "default", "mon", "file", "env", "cmdline" or "override". */
  source: string;
  /** Ids of OSDs. */
  osds: number[];
}

/** The write-ahead log. */
export interface Wal {
  /** RocksDB flushes what keeps the oldest WAL file at this size. */
  limit_bytes: number;
  /** What gives that limit. */
  limited_by: 'max_total_wal_size' | 'memtables';
  /** Preallocated for each WAL file. */
  file_bytes: number;
  /** What all WAL files take on their device. */
  device_bytes: Estimate;
  /** Of the device that holds the WAL. */
  device_total_bytes: number | null;
  /** Whether they fit. */
  fits_device: boolean | null;
  /** Until the limit is met, from an empty WAL. */
  fill_s: number | null;
}

/** How long OSDs are watched, and how long they were so far. */
export interface Watch {
  /** At least this long. Of the first OSD: soak_min, and three times fill_s as far as soak_max allows. */
  least_s: number | null;
  /** At most this long; 0: not at all. */
  most_s: number | null;
  /** What follows where the time is over without a verdict. */
  inconclusive: 'wait' | 'promote' | 'rollback';
  /** From one flush of memtables to the next under the load at the time, by the model, in the slower of the two option strings; null: not known. */
  fill_s: number | null;
  /** What follows where the first changed OSD got no worse, but no better either. */
  no_benefit: 'wait' | 'promote' | 'rollback';
  /** The same for each batch after the first OSD; null: these are not watched. */
  batches: SoakTime | null;
  /** How long the first OSD and the controls were measured before it was changed, as far as this manager has seen: 0 from then on after a failover. */
  baseline_s: number | null;
  /** How long they are measured before; 0: not at all. */
  baseline_least_s: number | null;
  /** How long it was watched so far, without interruptions. */
  soaked_s: number | null;
  /** The same of the batch after it that is watched. */
  batch_soaked_s: number | null;
  /** Ids of the OSDs that it is compared with. */
  controls: number[];
}

/** What the clients do, and how that is known. */
export interface Workload {
  /** What the clients do; "unknown" where not enough is known to tell. */
  class: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** 0..1; 0 for the class "unknown". */
  confidence: number;
  /** What was measured that supports the class. */
  evidence: Evidence[];
}

/** What the clients do. */
export interface WorkloadSummary {
  /** What the clients do; "unknown" where not enough is known to tell. */
  class: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** 0..1; 0 for the class "unknown". */
  confidence: number;
}

/** What the clients do, by group and by OSD, with the evidence. */
export interface Workloads {
  /** By device class. */
  groups: GroupWorkload[];
  /** By OSD. */
  osds: OsdWorkload[];
}

/** Where the time of a client's write goes. */
export interface WriteLatency {
  /** Seconds between the two looks. */
  window_s: number | null;
  /** In the order of the way. */
  parts: LatencyPart[];
  /** The part that takes the most; null without writes, or where too little is known. */
  bottleneck: Bottleneck | null;
}
