// Generated from the answers of the module by `make answers`. Do not edit.

/** Maximum number of concurrent background jobs. */
export interface Background {
  flushes: number;
  compactions: number;
}

/** The largest known part. */
export interface Bottleneck {
  /** Name of the part. */
  part: string;
  /** Mean in milliseconds. */
  ms: number;
  /** Share of the whole write, 0..1. */
  share: number | null;
  /** Interpretation, as a sentence. */
  statement: string;
}

/** A compaction campaign, which applies a change to existing data. */
export interface Campaign {
  /** Kind of operation. */
  kind: 'compaction';
  /** Id of the campaign, as in history. */
  id: string;
  /** Id of the recommendation that it applies; null: an operator chose the OSDs. */
  recommendation: string | null;
  /** Config mask of the OSDs to compact. */
  who: string;
  /** Client that requested it. */
  actor: string;
  /** Current phase. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Maximum number of OSDs per failure domain to compact at the same time. */
  parallel: number;
  /** Start time. ISO 8601, UTC. */
  started: string | null;
  /** Time of the last change. ISO 8601, UTC. */
  updated: string | null;
  /** Why no further OSD starts; null if nothing blocks it. */
  paused_reason: string | null;
  /** OSD that the campaign is waiting for, because it compacts or does not answer, and for how long; null: none. */
  waits_for: string | null;
  /** Outcome; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What went wrong; null if nothing did. */
  failure: string | null;
  /** Client write latency before the first compaction; null without client writes. */
  baseline_ms: number | null;
  /** Space used before compaction, over OSDs with both measurements. */
  used_before_bytes: number | null;
  /** Space used after compaction by the same OSDs. */
  used_after_bytes: number | null;
  /** Progress of each OSD. */
  osds: OsdCompaction[];
}

/** What a compaction campaign would take. Nothing was changed. */
export interface CampaignPlan {
  /** Config mask of the OSDs to compact. */
  who: string;
  /** Id of the recommendation with these OSDs, if any. */
  recommendation: string | null;
  /** Maximum number of OSDs per failure domain to compact at the same time. */
  parallel: number;
  /** Read at most, by all OSDs; null: unknown. */
  read_bytes: number | null;
  /** Written at most, by all OSDs; null: unknown. */
  write_bytes: number | null;
  /** Least duration without waiting; null: unknown. */
  duration_s: number | null;
  /** Most duration without waiting; null: unknown. */
  duration_most_s: number | null;
  /** The OSDs in order. */
  osds: PlannedCompaction[];
  /** All guards, for the first OSD. */
  guards: Guard[];
}

/** Soak time of the canary; most_s 0: no soak. */
export interface CanarySoak {
  /** Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to soak_max if that is longer. */
  least_s: number | null;
  /** Maximum soak time in seconds; 0: no soak. */
  most_s: number | null;
  /** Action if there is no verdict after most_s. */
  inconclusive: 'wait' | 'promote' | 'rollback';
  /** Modeled time between two memtable flushes under the current load, with the slower of the two option strings; null: unknown. */
  fill_s: number | null;
  /** Action if the canary is neither better nor worse. */
  no_benefit: 'promote' | 'rollback';
  /** Soak time of each later batch; null: no soak. */
  batches: SoakTime | null;
}

/** A candidate option string. */
export interface Candidate {
  /** Name of the profile, or "derived". */
  name: string;
  /** "running": the running options; "successor": the default of later releases; "default": the default of the release; "derived": computed from the published goals for these OSDs. */
  origin: 'running' | 'successor' | 'default' | 'profile' | 'derived';
  /** Name of the profile; null if it matches none. */
  profile: string | null;
  /** Option string. */
  options: string;
  /** Whether it was chosen for the group. */
  chosen: boolean;
  /** Why it is infeasible, in sentences; empty if it is feasible. */
  infeasible: string[];
  /** Effect on each resource; empty for running options and infeasible candidates. */
  effects: ResourceEffect[];
  /** Why it was not chosen, as a sentence; null for the chosen candidate, running options and infeasible candidates. */
  short: string | null;
  /** Experiment on this cluster that measured it against the running options; null: none. */
  measured_in: string | null;
}

/** A change with its actor and outcome. */
export interface Change {
  /** Id of the rollout. */
  id: string;
  /** Start time. ISO 8601, UTC. */
  time: string | null;
  /** Id of the recommendation. */
  recommendation: string;
  /** Config mask. */
  who: string;
  /** Changed option: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Option string before. */
  from: string;
  /** Option string after. */
  to: string;
  /** Client that requested it. */
  actor: string;
  /** Outcome; "waiting": not ended yet. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting';
  /** What went wrong; null if nothing did. */
  reason: string | null;
  /** Prediction, in words; null: none. */
  prediction: string | null;
  /** Prediction, in numbers; null: none. */
  predicted_effect: PredictedEffect | null;
  /** Measurement, in words; null: none. */
  measured: string | null;
  /** Verdict; null: none, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got worse; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** Change of the first OSD relative to its controls. */
  measured_effects: SignalVerdict[];
  /** Comparison of prediction and measurement; null if one is missing. */
  comparison: Comparison | null;
  /** Result of an experiment, which leaves all options as they were; null: a change. */
  experiment: ExperimentOutcome | null;
}

/** Check of an option string, for the release with the worst result. */
export interface Check {
  /** The option string as given. */
  options: string;
  /** Release with the worst result. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  /** Whether an OSD would start with it; null if unknown. */
  accepted: boolean | null;
  /** Effective value of every known option; empty if the string is not accepted. */
  effective: Record<string, string>;
  /** Problems, worst first. */
  problems: Problem[];
  /** All checked releases, worst first. */
  releases: CheckedRelease[];
  /** Assumptions in place of unknown facts, in sentences. */
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
  /** Whether an OSD of this release would start; null if unknown. */
  accepted: boolean | null;
  /** Number of errors. */
  errors: number;
  /** Number of warnings. */
  warnings: number;
  /** OSDs that run this release; empty if the release was given. */
  osds: number[];
  /** bluestore_rocksdb_options_annex of these OSDs, which Ceph appends to the string; included in the check. */
  annex: string;
}

/** One derived option. */
export interface Choice {
  /** Name of the option. */
  option: string;
  /** Its value. */
  value: string;
  /** Reason for this value. */
  why: string;
  /** Source of the reason. */
  source: string;
}

/** One column of BlueStore: ``shards`` identical column families. */
export interface ColumnFamilyModel {
  /** Name of the column. */
  column: string;
  /** Number of its column families. */
  shards: number;
  /** write_buffer_size */
  write_buffer_bytes: number;
  max_write_buffer_number: number;
  min_write_buffer_number_to_merge: number;
  /** Maximum memtable memory of one shard. */
  memtable_ceiling_bytes: number;
  /** Size of a flush of full memtables. */
  full_flush_bytes: Estimate;
  /** Share of all writes per shard. */
  share: number | null;
  /** Size of a flush under this workload. */
  expected_flush_bytes: Estimate | null;
  /** What triggers flushes. */
  flushed_by: 'memtables' | 'wal' | null;
  /** Size of a level 0 file. */
  level0_file_bytes: Estimate | null;
  /** Client writes to the OSD between two flushes. */
  writes_per_flush: number | null;
  /** Keys per flush. */
  keys_per_flush: number | null;
  /** Seconds between two flushes. */
  flush_every_s: number | null;
}

/** One column family since the OSD started; None: not reported. */
export interface ColumnFamilyStats {
  /** Name as in bluestore_rocksdb_cfs, with the shard: "O-0". */
  name: string;
  /** Levels with files. */
  levels: LevelStats[];
  /** Number of files in all levels. */
  files: number | null;
  /** Size of the files. */
  size_bytes: number | null;
  /** Bytes written by flushes and compaction over bytes written by flushes; null without flushes. */
  write_amp: number | null;
  /** Bytes written by flushes since the OSD started; null if below RocksDB's display precision. */
  flush_bytes: number | null;
  /** Bytes written by flushes and compaction; rounded by RocksDB. */
  compaction_write_bytes: number | null;
  /** Bytes read by compaction; rounded by RocksDB. */
  compaction_read_bytes: number | null;
  /** Number of write slowdowns and stops, by RocksDB's reason. */
  stalls: Record<string, number>;
}

/** A column of the database, with its number of shards. */
export interface ColumnShards {
  /** Name of the column; "default" for all other keys. */
  column: string;
  /** Number of its column families. */
  shards: number;
}

/** Two option strings, option by option. */
export interface Compared {
  /** Release of the comparison. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  from: Side;
  to: Side;
  /** Sides that prevent an OSD of the release from starting. */
  refused: string[];
  /** Sides for which it is unknown whether an OSD starts. */
  not_judged: string[];
  /** Options that differ. */
  changes: ComparedOption[];
}

/** An option that differs between two strings. */
export interface ComparedOption {
  /** Name of the option. */
  option: string;
  /** Value in the first string; null: default. */
  written_from: string | null;
  /** Value in the second string; null: default. */
  written_to: string | null;
  /** Effective value in the first; null: unknown. */
  effective_from: string | null;
  /** Effective value in the second; null: unknown. */
  effective_to: string | null;
  /** Both strings set it alike; the effective values differ because of other options. */
  follows: boolean;
  /** Description; null: not in the catalog. */
  meaning: string | null;
  /** When to change it. */
  change_when: string | null;
  /** When not to change it. */
  leave_when: string | null;
  /** Source of this information. */
  source: string | null;
}

/** Comparison of a prediction with the measurement. */
export interface Comparison {
  /** Signal of the comparison. */
  signal: string;
  /** Lower end of the predicted change of this signal. */
  predicted_low_percent: number | null;
  /** Upper end of the predicted change of this signal. */
  predicted_high_percent: number | null;
  /** Measured change of the signal. */
  measured_percent: number | null;
  /** Lower end of the measured interval. */
  measured_low_percent: number | null;
  /** Upper end of the measured interval. */
  measured_high_percent: number | null;
  /** right: the intervals overlap; direction: they do not, but the direction was predicted correctly. */
  result: 'right' | 'direction' | 'wrong';
}

/** Candidates of one group, and the choice. */
export interface Considered {
  /** Config mask of the group. */
  who: string;
  /** Limiting resource, or else that of the largest saving; null: no candidates were compared. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | null;
  /** The change of options that was chosen, or why none was. */
  decision: Decision;
  /** Minimum saving of a resource, with 80% probability. */
  min_gain_percent: number;
  /** Maximum additional use of any other resource, with 80% probability. */
  max_loss_percent: number;
  /** Resources that the OSDs have plenty of, exempt from max_loss_percent. */
  unconstrained: ('kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory')[];
  /** Candidates that were compared. */
  candidates: Candidate[];
}

/** CPU time of RocksDB, in microseconds: the kv_sync thread, flushes and compactions. */
export interface CpuModel {
  /** Measured load that the costs are of. */
  workload: string;
  /** Total per KiB in the WAL. */
  us_per_wal_kib: Estimate;
  /** Total per client write. */
  us_per_write: Estimate;
  /** CPU time of the kv_sync thread. */
  kv_sync_us_per_wal_kib: number;
  /** CPU time of flushes. */
  flushes_us_per_wal_kib: number;
  /** CPU time of compactions. */
  compactions_us_per_wal_kib: number;
  /** CPU time of compression and decompression in flushes and compactions. */
  compression_us_per_wal_kib: number;
}

/** Why setting an option is dangerous. */
export interface Danger {
  /** Level; "forbidden": the module never sets it. */
  level: 'forbidden' | 'caution';
  /** Reason. */
  why: string;
}

/** Where a dedicated DB device ends among the levels of a column family. */
export interface DbDeviceModel {
  /** Size of the device. */
  total_bytes: number;
  /** Size that BlueStore reports to RocksDB. */
  usable_bytes: number;
  /** Highest level that is entirely on the device; null: none. */
  last_level: number | null;
  /** Size of these levels, including level 0. */
  levels_bytes: number;
  /** Space available to single files of higher levels. */
  extra_bytes: number;
  /** Space that RocksDB cannot use. */
  unused_bytes: number;
  /** bluestore_volume_selection_policy */
  policy: string;
  /** Whether the current data fits on the device. */
  holds_data: boolean | null;
}

/** What to do about a group of OSDs; every answer shows it in these words. */
export interface Decision {
  /** Config mask of the OSDs. */
  who: string;
  /** What to do: a change, "Nothing to change", or "Wait: ...". */
  do: string;
  /** Reason, with what limits the clients if that is known. */
  because: string;
  /** Expected gains; null if none is predicted. */
  gain: string | null;
  /** Expected losses; null if they are unknown. */
  loss: string | null;
  /** Risk, with what the OSDs go through; null without a change. */
  risk: string | null;
  /** The command to run next; null if there is none. */
  next_command: string | null;
}

/** Statistics of an OSD's RocksDB. */
export interface Deep {
  /** Time of the statistics. ISO 8601, UTC. */
  time: string | null;
  /** Seconds since RocksDB was opened, when its counters start. */
  uptime_s: number | null;
  /** Total time of write stalls, in seconds. */
  stalled_s: number | null;
  /** Size of the block cache. */
  block_cache_bytes: number | null;
  /** Size of the memtables. */
  memtable_bytes: number | null;
  /** RocksDB's own counters; null if the OSD started without rocksdb_perf. */
  totals: Totals | null;
  /** Column families that the release reports: all since Tentacle, only "default" before. */
  column_families: ColumnFamilyStats[];
  /** Options that the module enabled temporarily for this query. */
  switched_on: string[];
  /** Options not restored yet; the module retries. */
  not_put_back: string[];
}

/** A derived option string, with a reason for each option. */
export interface Derived {
  /** bluestore_rocksdb_options */
  options: string;
  /** Equivalent profile; null: none. */
  equals: string | null;
  /** Most similar profile. */
  nearest: string;
  /** Differences from the most similar profile. */
  differences: OptionChange[];
  /** Id of the OSD; null: none was given. */
  osd: number | null;
  /** Its release. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  /** Inputs of the model; null: unknown. */
  inputs: Inputs;
  /** Assumptions in place of unknown inputs. */
  assumptions: string[];
  /** Options with their reasons. */
  choices: Choice[];
}

/** One check of the module and its surroundings. */
export interface DoctorCheck {
  /** Stable id of the check. */
  id: string;
  /** Whether it passed; null: unknown so far. */
  ok: boolean | null;
  /** What was found. */
  summary: string;
  /** What to do, with commands; null: nothing. */
  remedy: string | null;
  /** Whether the module works without it. */
  optional: boolean;
}

/** Why an arm ended before the experiment. */
export interface DroppedArm {
  /** The reason, as a phrase. */
  reason: string;
  /** Signals that got worse by more than their tolerance. */
  signals: string[];
  /** Period in which it ended. */
  period: number;
  /** Number of measured blocks of that period until then. */
  block: number;
}

/** A prediction with its 80% interval. */
export interface Estimate {
  low: number;
  value: number;
  high: number;
}

/** A measurement behind a conclusion. */
export interface Evidence {
  /** Name of the signal, or "pools" for the applications of the pools. */
  signal: string;
  /** Measured value, in the given unit. */
  value: number | null;
  /** Unit of the value. */
  unit: string;
  /** Length of the measurement, in seconds. */
  window_s: number | null;
  /** Interpretation, as a sentence. */
  statement: string;
}

/** The experiment under way, or an ended one. */
export interface Experiment {
  /** Kind of operation. */
  kind: 'experiment';
  /** Id of the experiment, as in history. */
  id: string;
  /** Current phase. */
  phase: 'planned' | 'baseline' | 'changing' | 'measuring' | 'restoring' | 'waiting' | 'done' | 'failed' | 'aborted';
  /** Client that requested it. */
  actor: string;
  /** The compared option strings. */
  arms: ExperimentArm[];
  /** Config mask of the group. */
  who: string;
  /** The judged signal that arms are expected to improve. */
  signal: string;
  /** Smaller differences count as none. */
  min_effect_percent: number;
  /** Maximum duration in seconds. */
  max_duration_s: number;
  /** Option string that the group runs. */
  options_from: string;
  /** OSDs that stay unchanged for comparison. */
  controls: number[];
  /** Smallest difference that is detected, with the noise measured on these OSDs; null: unknown. */
  detectable_percent: number | null;
  /** Smallest worsening that ends an arm within three blocks; null: unknown. */
  unsafe_percent: number | null;
  /** Planned duration in seconds, without waiting for gates; null: no plan. */
  duration_s: number | null;
  /** Length of a block in seconds. */
  block_s: number | null;
  /** Planned restarts of OSDs, including the last; null: no plan. */
  restarts: number | null;
  /** Periods in order; the first is the baseline. */
  periods: ExperimentPeriod[];
  /** Whether the winner is applied to the group at the end. */
  adopt: boolean;
  /** Current period; 0 is the baseline. */
  period: number;
  /** Number of measured blocks. */
  blocks: number;
  /** Effect of each arm on the signal after each block, oldest first. */
  trace: TracedBlock[];
  /** Best arm; null: none, or not yet. */
  winner: string | null;
  /** Result; "no-difference": no arm differs by the minimum effect; "no-gain": no arm is better by it; "unclear": the data is inconclusive; null: not yet. */
  conclusion: 'winner' | 'no-difference' | 'no-gain' | 'unclear' | 'failed' | null;
  /** State or result, as a sentence. */
  summary: string;
  /** Second best arm; null: none. */
  runner_up: string | null;
  /** The winner against the runner-up; null without either. */
  lead: ExperimentEffect | null;
  /** Upper bound of all differences; null: not bounded. */
  within_percent: number | null;
  /** Signals of the winner that may have got worse. */
  unproven: string[];
  /** Why it is paused or waiting; null if it is not. */
  paused_reason: string | null;
  /** Client that requested the pause. */
  paused_by: string | null;
  /** Outcome; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What went wrong; null if nothing did. */
  failure: string | null;
  /** Start time. ISO 8601, UTC. */
  started: string | null;
  /** Time of the last change. ISO 8601, UTC. */
  updated: string | null;
  /** End time; null while it is under way. ISO 8601, UTC. */
  ended: string | null;
}

/** An option string on some OSDs. */
export interface ExperimentArm {
  /** Name of the arm: the profile that it tries. */
  name: string;
  /** Option string of the arm. */
  options: string;
  /** OSDs of the arm in the current period, or in the first one before it begins. */
  osds: number[];
  /** Prediction of the model and published figures; null: none. */
  predicted: PredictedGain | null;
  /** Verdict so far; null: none yet. */
  verdict: 'better' | 'same' | 'worse' | 'unclear' | 'failed' | null;
  /** Effect on each signal, the goal of the experiment first. */
  effect: ExperimentEffect[];
  /** null if it was not dropped. */
  dropped: DroppedArm | null;
}

/** Effect of an arm on one signal, against unchanged OSDs. */
export interface ExperimentEffect {
  /** Name of the signal, as in knowledge/judged_signals.json. */
  signal: string;
  /** Effect; "unclear": too little data so far. */
  effect: 'better' | 'same' | 'worse' | 'unclear';
  /** Most likely change; negative is better. null: unknown. */
  estimate_percent: number | null;
  /** Lower end of the interval; null: unbounded. */
  low_percent: number | null;
  /** Upper end of the interval; null: unbounded. */
  high_percent: number | null;
}

/** Result of an experiment. */
export interface ExperimentOutcome {
  /** The judged signal that arms were expected to improve. */
  signal: string;
  /** Smaller differences counted as none. */
  min_effect_percent: number;
  /** Result; null: it ended before. */
  conclusion: 'winner' | 'no-difference' | 'no-gain' | 'unclear' | 'failed' | null;
  /** Best arm; null: none. */
  winner: string | null;
  arms: TriedOptions[];
}

/** A time in which no OSD changes its options. */
export interface ExperimentPeriod {
  /** Empty in the first period, the baseline. */
  arms: PeriodArm[];
  /** Number of measured blocks. */
  blocks: number;
  /** Blocks before them for restarts and warm-up. */
  settle_blocks: number;
}

/** Preview of `experiment start`. */
export interface ExperimentPlan {
  /** Always null: nothing was started. */
  id: string | null;
  /** Always "planned". */
  phase: 'planned';
  /** Option strings to compare; without any effects. */
  arms: ExperimentArm[];
  /** Config mask of the group. */
  who: string;
  /** The judged signal that arms are expected to improve. */
  signal: string;
  /** Smaller differences count as none. */
  min_effect_percent: number;
  /** Maximum duration in seconds. */
  max_duration_s: number;
  /** Option string that the group runs. */
  options_from: string;
  /** OSDs that stay unchanged for comparison. */
  controls: number[];
  /** Smallest difference that is detected, with the noise measured on these OSDs; null: unknown. */
  detectable_percent: number | null;
  /** Smallest worsening that ends an arm within three blocks; null: unknown. */
  unsafe_percent: number | null;
  /** Planned duration in seconds, without waiting for gates; null: no plan. */
  duration_s: number | null;
  /** Length of a block in seconds. */
  block_s: number | null;
  /** Planned restarts of OSDs, including the last; null: no plan. */
  restarts: number | null;
  /** Periods in order; the first is the baseline. */
  periods: ExperimentPeriod[];
  /** Always null. */
  winner: string | null;
  /** Always null. */
  conclusion: 'winner' | 'no-difference' | 'no-gain' | 'unclear' | 'failed' | null;
  /** The plan or the refusal, as a sentence. */
  summary: string;
  /** Always null. */
  started: string | null;
  /** Always null. */
  ended: string | null;
  /** null if the experiment is possible. */
  refusal: ExperimentRefusal | null;
  /** Risks, in sentences. */
  risk: string[];
  /** Limitations of the experiment, in sentences. */
  unknown: string[];
  /** Conditions that must hold before each restart. */
  gates: string[];
  /** Command that starts it. */
  command: string;
}

/** Why no experiment is possible, and the requirements. */
export interface ExperimentRefusal {
  /** The reason, as a phrase. */
  reason: string;
  /** Required size of the group; null: unknown, or none suffices. */
  osds: number | null;
  /** Required duration with these OSDs; null: unknown, or none suffices. */
  duration_s: number | null;
}

/** The CRUSH bucket in which a placement group has at most one copy. */
export interface FailureDomain {
  /** CRUSH type: host, rack, ...; osd if each OSD is its own failure domain. */
  type: string;
  /** Name of the bucket, or of the OSD. */
  name: string;
}

/** An entry of the config store. */
export interface FinalEntry {
  /** Config mask of the entry. */
  who: string;
  /** Value of the entry; null: the entry is removed. */
  value: string | null;
}

/** A condition that requires attention. */
export interface Finding {
  /** Stable id of the condition. */
  id: string;
  /** Severity. */
  severity: 'error' | 'warning' | 'info';
  /** Summary, as a sentence. */
  summary: string;
  /** Affected OSDs. */
  osds: number[];
  /** Evidence. */
  evidence: FindingEvidence[];
  /** Remedy. */
  remedy: string;
  /** Documentation or measurement behind the condition. */
  source: string;
  /** The exact commands of the remedy, if any. */
  commands: string[];
  /** What would make it worse; null: nothing known. */
  do_not: string | null;
}

/** Number of findings by severity. */
export interface FindingCounts {
  error: number;
  warning: number;
  info: number;
}

/** A measurement or setting behind a finding. */
export interface FindingEvidence {
  /** Name of the signal or setting. */
  signal: string;
  /** The value, in the given unit; null: unknown. */
  value: unknown;
  /** Unit or kind of the value. */
  unit: string;
  /** Length of the measurement, in seconds; null: a state. */
  window_s: number | null;
}

/** Forecast of a full DB device. */
export interface Forecast {
  /** Result of the forecast. */
  outlook: 'not-enough-history' | 'not-growing' | 'beyond-horizon' | 'filling' | 'spilled';
  /** Time of the newest point, the start of the intervals below. */
  time: string | null;
  /** Length of the history, in seconds. */
  history_s: number | null;
  /** Number of points in the history. */
  points: number;
  /** Median growth. */
  growth_bytes_per_day: number | null;
  /** Lower end of its 90% interval. */
  growth_low_bytes_per_day: number | null;
  /** Upper end of its 90% interval. */
  growth_high_bytes_per_day: number | null;
  /** Seconds until the device is full; null unless it is filling. */
  full_in_s: number | null;
  /** Lower bound of full_in_s. */
  full_earliest_s: number | null;
  /** Upper bound of full_in_s. */
  full_latest_s: number | null;
}

/** A formula in words, with its source. */
export interface Formula {
  /** The quantity. */
  quantity: string;
  /** Its formula, in words. */
  formula: string;
  /** Source of the formula. */
  source: string;
}

/** The OSDs of one device class. */
export interface Group {
  /** Config mask of the group. */
  who: string;
  /** Ids of the OSDs. */
  osds: number[];
  workload: WorkloadSummary;
  /** Current bottleneck of the clients of the group. */
  limit: Limit;
  options: GroupOptions;
}

/** Running options of the OSDs of a group. */
export interface GroupOptions {
  /** Profile that all of them run; null if they differ or match no profile. */
  profile: string | null;
  /** Source of the running value: "default", "mon", "file", "env", "cmdline" or "override". null if it differs or is unknown. */
  source: string | null;
  /** OSDs whose configured options a restart would apply. */
  pending_restart: number[];
  /** Variants, most frequent first; without OSDs whose options are unknown. */
  variants: Variant[];
}

/** Workload of the OSDs of one device class. */
export interface GroupWorkload {
  /** Config mask of the group. */
  who: string;
  /** Ids of the OSDs. */
  osds: number[];
  workload: Workload;
  /** Current bottleneck of the clients of the group. */
  limit: Limit;
}

/** Data points behind the forecast. */
export interface Growth {
  /** Id of the OSD. */
  osd: number;
  /** Seconds since the epoch, oldest first. */
  time_s: number[];
  /** Space used on the DB device at each of these times. */
  used_bytes: number[];
  /** Size of the DB device; null without a dedicated device or without data. */
  total_bytes: number | null;
  /** Forecast of a full DB device; null without a dedicated device. */
  forecast: Forecast | null;
}

/** A condition for starting the next OSD. */
export interface Guard {
  /** What has to be in order. */
  guard: string;
  /** Whether it is; null: known only once the campaign runs. */
  open: boolean | null;
  /** Why it is not known to be open; null if it is. */
  reason: string | null;
}

/** Hardware that a profile suits. */
export interface Hardware {
  /** A loss was published for this number of cores per OSD, or fewer. */
  loses_at_cores_per_osd: number | null;
  /** Further notes. */
  notes: string[];
}

/** Inputs of the model; null: unknown. */
export interface Inputs {
  /** Workload class of the clients. */
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown' | null;
  /** Measured load that represents the workload. */
  measured_as: string | null;
  /** Bytes written to the database per second. */
  wal_bytes_per_s: number | null;
  /** Mean size of a key with its value. */
  bytes_per_key: number | null;
  /** Total space used by BlueFS. */
  data_bytes: number | null;
  /** Objects that clients write to, estimated from the writes of the OSD; null if these do not tell. */
  objects: Estimate | null;
  /** osd_memory_target */
  memory_target_bytes: number | null;
  /** CPU cores per OSD. */
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
  /** Columns as in bluestore_rocksdb_cfs. */
  column_families: ColumnShards[];
}

/** Basis of a verdict. */
export interface Judgment {
  /** Whether the verdict is "better". */
  better: boolean;
  /** Effect of the change on each signal. */
  signals: SignalVerdict[];
  /** Data missing for a verdict, in words. */
  missing: string[];
  /** Cause of the verdict other than the signals; null: none. */
  cause: string | null;
}

/** A known option. */
export interface KnownOption {
  /** Name of the option. */
  option: string;
  /** "db": the whole database; "cf": each column family; "ceph": Ceph's own key in the string; "neighbour": a related Ceph option. */
  scope: 'db' | 'cf' | 'ceph' | 'neighbour';
  /** Type of its value. */
  type: string;
  /** Unit of its value; null: none. */
  unit: string | null;
  /** Description of the option. */
  meaning: string;
  /** Danger of setting it; null: none. */
  danger: 'forbidden' | 'caution' | null;
}

/** A valid value of an option. */
export interface KnownValue {
  /** The value as written in an option string. */
  name: string;
  /** Whether an OSD starts with it. */
  starts: boolean;
  /** First RocksDB version with this value; null: all known. */
  since: string | null;
}

/** The last observed restart. */
export interface LastStart {
  /** Minimum downtime, in seconds. */
  away_s: number | null;
  /** Maximum downtime, in seconds. */
  away_most_s: number | null;
  /** Whether most OSDs of its host were down with it; null: the host has no other OSDs. */
  host_away: boolean | null;
}

/** One part of the write path. */
export interface LatencyPart {
  /** Stable name of the part, such as "kv-queue". */
  part: string;
  /** The part that contains it; null for the whole write. */
  within: string | null;
  /** Mean in milliseconds; null if the release does not report it. */
  ms: number | null;
  /** Share of the whole write; null: unknown. */
  share: number | null;
  /** Source of the value. */
  signal: string;
}

/** A level with its static target size. */
export interface Level {
  /** Number of the level, from 1. */
  level: number;
  /** Target size per column family. */
  target_bytes: number;
  /** Total target size of levels 1 to this one. */
  cumulative_bytes: number;
  /** The same with level 0, assumed as large as level 1. */
  cumulative_with_level0_bytes: number;
  /** Whether the level is on the DB device; null: no dedicated device, or unknown. */
  on_db_device: boolean | null;
}

/** Level 0, which receives the flushes. */
export interface Level0 {
  /** Number of files that triggers a compaction. */
  files: number;
  /** Size: write_buffer_size x min_write_buffer_number_to_merge x level0_file_num_compaction_trigger. */
  bytes: number;
  /** Size of level 0 over the size of level 1. */
  ratio_to_level1: number | null;
}

/** One level of a column family; None: not in RocksDB's table. */
export interface LevelStats {
  /** Number of the level; flushes write to level 0. */
  level: number;
  /** Number of files. */
  files: number | null;
  /** Size of the files. */
  size_bytes: number | null;
  /** Compaction score; above 1, compaction is due. */
  score: number | null;
  /** Bytes read by compaction since the OSD started; rounded by RocksDB. */
  read_bytes: number | null;
  /** Bytes written by compaction or flushes since the OSD started; rounded by RocksDB. */
  write_bytes: number | null;
  /** Bytes written over bytes received from the level above. */
  write_amp: number | null;
  /** Compactions since the OSD started. */
  compactions: number | null;
}

/** Current bottleneck of the clients. */
export interface Limit {
  /** Limiting resource; "none": no measured resource is limiting; "unknown": not enough data. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | 'data-device' | 'network' | 'none' | 'unknown';
  /** Part of a write that takes the time in it, such as "flushing the data device"; null: unknown. */
  part: string | null;
  /** What would relieve it; null if nothing is known to limit. */
  relief: string | null;
  /** Confidence, 0..1; 0 for "unknown". */
  confidence: number;
  /** Measurements that support it. */
  evidence: Evidence[];
}

/** One ceph-mgr of the cluster. */
export interface Manager {
  /** Name of the mgr, without "mgr.". */
  name: string;
  /** Host name; null: not reported. */
  host: string | null;
  /** Whether it is active. */
  active: boolean;
  /** Whether this module was installed at its start and can run there. */
  has_module: boolean;
}

/** Memory of the memtables. */
export interface MemtableModel {
  /** Maximum by the number of memtables alone. */
  ceiling_bytes: number;
  /** Maximum with the limit of the WAL. */
  bounded_bytes: Estimate;
  /** Setting that determines this bound. */
  bounded_by: 'max_write_buffer_number' | 'wal' | 'db_write_buffer_size';
  /** osd_memory_target */
  memory_target_bytes: number | null;
  /** Share of osd_memory_target. */
  share_of_memory_target: number | null;
}

/** Operating mode of the module. */
export interface ModeInForce {
  /** Current mode. */
  mode: 'off' | 'observe' | 'recommend' | 'auto-apply';
  /** All modes. */
  possible: ('off' | 'observe' | 'recommend' | 'auto-apply')[];
}

/** Model of an OSD's RocksDB with an option string. */
export interface Model {
  /** bluestore_rocksdb_options */
  options: string;
  /** Name of the matching profile. */
  profile: string | null;
  /** Id of the OSD; null: none was given. */
  osd: number | null;
  /** Its release. */
  release: string;
  /** Version of its RocksDB. */
  rocksdb_version: string;
  /** Inputs of the model; null: unknown. */
  inputs: Inputs;
  /** Assumptions in place of unknown inputs. */
  assumptions: string[];
  wal: WalModel;
  memtables: MemtableModel;
  /** Column families by column. */
  column_families: ColumnFamilyModel[];
  level0: Level0;
  /** Levels from level 1. */
  levels: Level[];
  /** Why level_compaction_dynamic_level_bytes is not in effect although enabled; null: it is as in the options. */
  dynamic_level_bytes: string | null;
  /** Use of the DB device; null: no dedicated device, or unknown. */
  db_device: DbDeviceModel | null;
  background: Background;
  /** (WAL + flushes + compactions) / WAL bytes, with an 80% interval from measurements. */
  write_amplification: Estimate | null;
  /** Share of flushes in the write amplification. */
  flush_bytes_per_wal_byte: number | null;
  /** Share of compactions in the write amplification. */
  compaction_bytes_per_wal_byte: number | null;
  /** Time of the kv_sync thread per write, relative to memtables of 256 MiB; null: unknown workload. */
  kv_sync_time: Estimate | null;
  /** CPU time of the kv_sync thread, flushes and compactions, on the processor of the measurements; null: the workload or database size is unknown, or the compression was not measured. */
  cpu: CpuModel | null;
  /** SST bytes over SST bytes after a full compaction. */
  space_amplification: Estimate | null;
  /** Formulas of the quantities. */
  sources: Formula[];
  /** Source of the measured parameters and intervals. */
  measured: string;
}

/** A text for every OSD. */
export interface Named {
  /** Distinct texts; null: unknown, or none. */
  names: (string | null)[];
  /** Index of the text of each OSD. */
  index: number[];
}

/** A recommendation that auto-apply does not apply yet. */
export interface NotApplied {
  /** Id of the recommendation. */
  recommendation: string;
  /** Reason. */
  not_yet_because: string;
}

/** The operation under way, or the last one. */
export interface OperationSummary {
  /** Id of the operation, as in history. */
  id: string;
  /** Kind of operation. */
  kind: 'rollout' | 'compaction' | 'experiment';
  /** Current phase. */
  phase: string;
  /** Config mask. */
  who: string;
  /** Number of OSDs in the operation. */
  osds_total: number;
  /** Number of finished OSDs. */
  osds_finished: number;
  /** Why it is paused or waiting; null if it is not. */
  paused_reason: string | null;
  /** Outcome; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What went wrong; null if nothing did. */
  failure: string | null;
}

/** Full description of an option. */
export interface Option {
  /** Name of the option. */
  option: string;
  /** "db": the whole database; "cf": each column family; "ceph": Ceph's own key in the string; "neighbour": a related Ceph option. */
  scope: 'db' | 'cf' | 'ceph' | 'neighbour';
  /** Type of its value. */
  type: string;
  /** Unit of its value; null: none. */
  unit: string | null;
  /** Description of the option. */
  meaning: string;
  /** Danger of setting it; null: none. */
  danger: Danger | null;
  /** Defaults by RocksDB version, or by release for a related Ceph option; null: unknown. */
  defaults: Record<string, string | null>;
  /** Why setting it has no effect, by RocksDB version; null: it has an effect. */
  no_effect: Record<string, string | null>;
  /** RocksDB raises smaller values to this. */
  minimum: number | null;
  /** RocksDB lowers larger values to this. */
  maximum: number | null;
  /** Valid values, if it has a fixed set of them. */
  values: KnownValue[];
  /** Range of sensible values; null: unknown. */
  sane: SaneRange | null;
  /** Whether the module may set it. */
  set_by_module: boolean;
  /** Whether a change requires an OSD restart. */
  needs_restart: boolean;
  /** Source of this information. */
  source: string;
  /** When to change it. */
  change_when: string;
  /** When not to change it. */
  leave_when: string;
  /** Version since which it is deprecated; null: not deprecated. */
  deprecated: string | null;
  /** RocksDB can change it at runtime, but Ceph offers no way to do so. */
  mutable_in_rocksdb: boolean;
  /** When a change takes effect; "restart": at the next start of the OSD; "mkfs": only in new OSDs. */
  takes_effect: 'at-once' | 'restart' | 'mkfs';
  /** Members, if it is a struct. */
  members: StructMember[];
}

/** An option that differs. */
export interface OptionChange {
  /** Name of a RocksDB option. */
  option: string;
  /** Value before; null: not set. */
  from: string | null;
  /** Value after; null: not set. */
  to: string | null;
}

/** An option with a value. */
export interface OptionValue {
  /** Name of the option. */
  option: string;
  /** Its value. */
  value: string;
}

/** Running options of an OSD, and its options after the next start. */
export interface OptionsInFull {
  /** Name of the running profile; null: none, or unknown. */
  profile: string | null;
  /** Whether a restart would apply the configured options; false if the OSD would not start with them. */
  pending_restart: boolean | null;
  /** Source of the running value: "default", "mon", "file", "env", "cmdline" or "override". */
  source: string | null;
  /** Running option string, including the annex. */
  running: string | null;
  /** Option string after the next start; null: unknown. */
  next_start: string | null;
  /** Whether the OSD would start with it; null: unknown. */
  starts: boolean | null;
  /** Config mask of the entry that takes precedence for the OSD. */
  deciding_who: string | null;
  /** Whether ceph.conf, the environment or the command line overrides the config store. */
  overruled: boolean | null;
  /** bluestore_rocksdb_options_annex, as part of the option strings. */
  annex: string | null;
  /** Changes at the next restart; null: unknown. */
  difference: OptionChange[] | null;
}

/** Progress of one OSD. */
export interface OsdCompaction {
  /** Id of the OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Failure domain of the OSD; null: unknown. */
  failure_domain: FailureDomain | null;
  /** Current phase. */
  phase: 'pending' | 'compacting' | 'settling' | 'done' | 'skipped';
  /** Space used by its DB before compaction. */
  before_bytes: number | null;
  /** Space used by its DB after compaction. */
  after_bytes: number | null;
  /** Maximum client write latency of the cluster during its compaction. */
  latency_ms: number | null;
  /** Why the OSD was skipped; null if it was not. */
  reason: string | null;
}

/** Details of one OSD. */
export interface OsdDetail {
  /** Id of the OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Device class, from the CRUSH map. */
  device_class: string | null;
  /** Whether the OSD is up. */
  up: boolean;
  /** Whether the OSD is in. */
  in_cluster: boolean;
  /** Failure domain by the CRUSH rules of its pools, or its host without pools; null: unknown. */
  failure_domain: FailureDomain | null;
  /** Ceph version, such as "16.2.15". */
  version: string | null;
  /** Ceph release, such as "pacific". */
  release: string | null;
  /** Object store, such as "bluestore". */
  objectstore: string | null;
  /** Whether the DB has a dedicated device. */
  dedicated_db: boolean | null;
  /** Whether the WAL has a dedicated device. */
  dedicated_wal: boolean | null;
  /** Size of the dedicated DB device in bytes. */
  db_device_bytes: number | null;
  /** Age of the newest sample, in seconds. */
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
  /** Bytes per second that BlueFS wrote to RocksDB's WAL. */
  wal_bytes_per_s: number | null;
  /** Bytes per second that BlueFS wrote to SST files. */
  sst_bytes_per_s: number | null;
  /** Bytes per second that compaction wrote. */
  compaction_bytes_per_s: number | null;
  /** Source of compaction_bytes_per_s: RocksDB's own statistics, or an estimate from SST and WAL bytes. */
  compaction_source: 'measured' | 'estimated' | null;
  /** (WAL + SST bytes) / WAL bytes over the long window. */
  db_write_amp: number | null;
  /** Whether DB and data share a device, so the DB has no limit of its own. */
  db_device_shared: boolean | null;
  /** Bytes used by the DB on its device. */
  db_used_bytes: number | null;
  /** Size of the DB device in bytes; null if it is shared with the data. */
  db_total_bytes: number | null;
  /** Bytes of the DB on the slow device. */
  slow_used_bytes: number | null;
  /** Length of the window of the rates and means, in seconds. */
  window_s: number | null;
  /** Mean duration of the device flush in kv_sync, in milliseconds. */
  kv_flush_ms: number | null;
  /** Client read-write class calls per second. */
  rw_iops: number | null;
  /** Bytes of client writes per second. */
  write_bytes_per_s: number | null;
  /** Bytes of client reads per second. */
  read_bytes_per_s: number | null;
  /** Bytes per second written by client class calls. */
  rw_bytes_per_s: number | null;
  /** Mean size of a client read, in bytes. */
  read_bytes_avg: number | null;
  /** Mean latency of a client write, in milliseconds. */
  op_w_latency_ms: number | null;
  /** Recovery operations per second. */
  recovery_ops_per_s: number | null;
  /** Recovery bytes per second. */
  recovery_bytes_per_s: number | null;
  /** Bytes per second of WAL and SST files written to the slow device. */
  slow_bytes_per_s: number | null;
  /** WAL bytes per byte of client writes. */
  wal_bytes_per_client_byte: number | null;
  /** WAL bytes per client write. */
  wal_bytes_per_write_op: number | null;
  /** Seconds over which compaction was observed. */
  compaction_window_s: number | null;
  /** Length of the long window, in seconds. */
  db_write_amp_window_s: number | null;
  /** Bytes used by the WAL on its device. */
  wal_used_bytes: number | null;
  /** Size of the WAL device in bytes. */
  wal_total_bytes: number | null;
  /** Size of the slow device in bytes. */
  slow_total_bytes: number | null;
  /** Whether its RocksDB is sharded into column families. */
  sharded: boolean | null;
  /** Mean time to place an iterator in RocksDB, in milliseconds; null before Reef. */
  omap_seek_ms: number | null;
  /** Mapped memory; null without tcmalloc. */
  memory_mapped_bytes: number | null;
  /** Target of memory autotuning. */
  memory_target_bytes: number | null;
  /** Share of time with RocksDB write stalls, 0..1; null without RocksDB's statistics. */
  write_stall_share: number | null;
  /** Breakdown of client write latency; null before two detailed samples. */
  write_latency: WriteLatency | null;
  /** Forecast of a full DB device; null without a dedicated device. */
  forecast: Forecast | null;
  /** The last restart that the active mgr observed; null: none. */
  last_start: LastStart | null;
  workload: Workload;
  options: OptionsInFull;
  /** Findings that affect the OSD. */
  findings: Finding[];
  /** Ids of the recommendations that include the OSD. */
  recommendations: string[];
  /** Statistics of the OSD's RocksDB; null without --deep. */
  deep: Deep | null;
  /** Model of the OSD with its running options; null if it does not cover the options, the workload or the database. */
  model: OsdModel | null;
  /** Current bottleneck of the clients of this OSD. */
  limit: Limit;
}

/** Columnar map: every list and every index has as many items as osds. */
export interface OsdMap {
  /** Time of the data. ISO 8601, UTC. */
  time: string | null;
  /** Ids of the OSDs. */
  osds: number[];
  /** Whether the OSD is up. */
  up: boolean[];
  /** Names of their hosts. */
  hosts: Named;
  /** Device classes, from the CRUSH map. */
  device_classes: Named;
  /** Workload classes. */
  workloads: Named;
  /** Names of the running profiles. */
  profiles: Named;
  /** Sources of the options. */
  sources: Named;
  /** Whether a restart would apply the configured options. */
  pending_restart: (boolean | null)[];
  /** Mean duration of one round of the kv_sync thread. */
  kv_sync_ms: (number | null)[];
  /** Time inside kv_sync over wall time. */
  kv_sync_busy: (number | null)[];
  /** Used share of the DB device, 0..1; null without a dedicated device. */
  db_used_ratio: (number | null)[];
  /** Whether a part of the DB is on the slow device. */
  spilled: (boolean | null)[];
}

/** Model of an OSD with its running options. */
export interface OsdModel {
  /** Prediction for db_write_amp. */
  write_amplification: Estimate;
  /** Objects that clients write to, estimated from its writes; null if these do not tell. */
  objects: Estimate | null;
}

/** Summary of one OSD. */
export interface OsdRow {
  /** Id of the OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Device class, from the CRUSH map. */
  device_class: string | null;
  /** Whether the OSD is up. */
  up: boolean;
  workload: WorkloadSummary;
  /** Age of the newest sample, in seconds. */
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
  /** Bytes per second that BlueFS wrote to RocksDB's WAL. */
  wal_bytes_per_s: number | null;
  /** Bytes per second that BlueFS wrote to SST files. */
  sst_bytes_per_s: number | null;
  /** Bytes per second that compaction wrote. */
  compaction_bytes_per_s: number | null;
  /** Source of compaction_bytes_per_s: RocksDB's own statistics, or an estimate from SST and WAL bytes. */
  compaction_source: 'measured' | 'estimated' | null;
  /** (WAL + SST bytes) / WAL bytes over the long window. */
  db_write_amp: number | null;
  /** Whether DB and data share a device, so the DB has no limit of its own. */
  db_device_shared: boolean | null;
  /** Bytes used by the DB on its device. */
  db_used_bytes: number | null;
  /** Size of the DB device in bytes; null if it is shared with the data. */
  db_total_bytes: number | null;
  /** Bytes of the DB on the slow device. */
  slow_used_bytes: number | null;
  options: RunningOptions;
}

/** Workload of one OSD. */
export interface OsdWorkload {
  /** Id of the OSD. */
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

/** OSDs of one arm in one period. */
export interface PeriodArm {
  /** Name of the arm: the profile that it tries. */
  name: string;
  osds: number[];
}

/** Preview of `apply`. */
export interface Plan {
  /** Id of the recommendation. */
  recommendation: string;
  /** Kind of change. */
  kind: 'set-profile' | 'remove-override';
  /** Config mask that the final setting applies to. */
  who: string;
  /** Profile of the new option string; null if it matches no profile. */
  profile: string | null;
  /** Risk of the change. */
  risk: 'low' | 'medium' | 'high';
  /** Option string after the change. */
  options_to: string;
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands to restore the previous settings. */
  undo_commands: string[];
  /** OSDs in the order in which they would be changed, in batches of at most one failure domain, each with a soak before the next. */
  batches: PlannedBatch[];
  /** Canary: the OSD to change and judge first; null: no verdict. */
  canary: number | null;
  /** Ids of the control OSDs of the canary. */
  controls: number[];
  /** Purpose of the change: "gain" if a gain is predicted, which the canary has to confirm; else "safety". */
  purpose: 'gain' | 'safety';
  /** Soak time of the canary; most_s 0: no soak. */
  soak: CanarySoak;
  /** Conditions that must hold before each restart. */
  gates: string[];
  /** Minimum duration in seconds, without any waiting for gates. */
  expected_duration_s: number;
  /** The same with the maximum soak time. */
  expected_duration_most_s: number;
}

/** A batch of OSDs to change before the next batch. */
export interface PlannedBatch {
  /** Ids of OSDs. */
  osds: number[];
  /** Failure domain of all of these OSDs; null: unknown. */
  failure_domain: FailureDomain | null;
  phase: 'planned';
  /** Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected. */
  controls: number[];
}

/** What the compaction of one OSD would take. */
export interface PlannedCompaction {
  /** Id of the OSD. */
  osd: number;
  /** Name of its host. */
  host: string | null;
  /** Failure domain of the OSD; null: unknown. */
  failure_domain: FailureDomain | null;
  /** Read at most; null: unknown. */
  read_bytes: number | null;
  /** Written at most; null: unknown. */
  write_bytes: number | null;
  /** Needed until the old files are removed, at most. */
  needed_bytes: number | null;
  /** Free on the device with its DB; null: unknown. */
  free_bytes: number | null;
  /** Why it would be skipped; null if it would not. */
  skipped: string | null;
}

/** A predicted change of one metric. */
export interface PredictedEffect {
  /** The metric that would change. */
  metric: string;
  /** Lower end of the predicted change, in percent. */
  low_percent: number | null;
  /** Upper end of the predicted change. */
  high_percent: number | null;
}

/** Predicted effect of an arm on the goal of the experiment. */
export interface PredictedGain {
  /** The metric that would change. */
  metric: string;
  /** Lower end of the 80% interval; negative is better. */
  low_percent: number;
  /** Upper end of the 80% interval. */
  high_percent: number;
}

/** Predicted effect of a change on one signal. */
export interface Prediction {
  /** The metric that would change. */
  metric: string;
  /** Name of the corresponding signal in the osd command. */
  signal: string;
  /** Most likely change, in percent. */
  estimate_percent: number;
  /** Lower end of the expected change, in percent. */
  low_percent: number;
  /** Upper end of the expected change, in percent. */
  high_percent: number;
  /** Published measurement or model behind the prediction. */
  basis: string;
}

/** One problem of an option string. */
export interface Problem {
  /** Severity; "error": an OSD would not start, or the setting is dangerous. */
  severity: 'error' | 'warning' | 'info';
  /** Stable id of the rule. */
  rule: string;
  /** Name of the option; null: the string as a whole. */
  option: string | null;
  /** Description of the problem. */
  message: string;
  /** Source of this information. */
  source: string;
}

/** A profile with its suitability and published measurements. */
export interface ProfileInFull {
  /** Name of the profile. */
  name: string;
  /** Short description. */
  title: string;
  /** bluestore_rocksdb_options, exactly as published. */
  options: string;
  /** Releases with this profile as the default. */
  release_defaults: string[];
  /** Workloads that it is designed for. */
  workloads: ('idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown')[];
  /** Why it should no longer be used; null: not superseded. */
  superseded: string | null;
  /** Publication of the profile. */
  source: string;
  /** Whether it is a custom profile; only an experiment can make one recommended. */
  own: boolean;
  /** Releases of a custom profile; empty for a built-in profile. */
  own_releases: string[];
  /** Workloads that it suits. */
  suitability: SuitabilityRule[];
  hardware: Hardware;
  /** Published measurements. */
  evidence: Published[];
  /** Cautions. */
  cautions: string[];
  /** RocksDB version from which it is superseded. */
  superseded_from_rocksdb: string | null;
  /** The experiment that found it; null: not from an experiment. */
  provenance: Provenance | null;
}

/** A profile, in brief. */
export interface ProfileSummary {
  /** Name of the profile. */
  name: string;
  /** Short description. */
  title: string;
  /** bluestore_rocksdb_options, exactly as published. */
  options: string;
  /** Releases with this profile as the default. */
  release_defaults: string[];
  /** Workloads that it is designed for. */
  workloads: ('idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown')[];
  /** Why it should no longer be used; null: not superseded. */
  superseded: string | null;
  /** Publication of the profile. */
  source: string;
  /** Whether it is a custom profile; only an experiment can make one recommended. */
  own: boolean;
  /** Releases of a custom profile; empty for a built-in profile. */
  own_releases: string[];
}

/** The experiment that found a custom profile. */
export interface Provenance {
  /** Id of the experiment. */
  experiment: string;
  /** FSID of the cluster; null: unknown. */
  cluster: string | null;
  /** Start of the experiment. ISO 8601, UTC. */
  started: string | null;
  /** Config mask of the group. */
  who: string;
  /** Release of the group; null: unknown. */
  release: string | null;
  /** Workload of the group; null: unknown. */
  workload: string | null;
  /** Storage of the group; null: unknown. */
  hardware: string | null;
  /** The judged signal that was compared. */
  signal: string;
  /** Its change; null: unknown. */
  change_percent: number | null;
  /** Lower end of the interval; null: unbounded. */
  low_percent: number | null;
  /** Upper end of the interval; null: unbounded. */
  high_percent: number | null;
}

/** A published measurement. */
export interface Published {
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Metric of the measurement. */
  metric: string;
  /** Unit of the values. */
  unit: string;
  /** Baseline of the comparison. */
  baseline: string;
  /** Value of the baseline; null: only the change was published. */
  baseline_value: number | null;
  /** Effective options of the baseline; predictions use the measurement only if these are in effect. */
  baseline_options: OptionValue[];
  /** Measured value. */
  value: number;
  /** Change relative to the baseline, in percent. */
  change_percent: number;
  /** Hardware and load of the measurement. */
  setup: string;
  /** Releases of the measurement; empty: unknown. */
  releases: string[];
  /** Hardware of the measurement; empty: unknown. */
  hardware: ('nvme' | 'ssd-db+hdd' | 'hdd')[];
  /** Whether predictions use this measurement. */
  headline: boolean;
  source: Source;
}

/** A reason for the change. */
export interface Reason {
  /** The reason, as a sentence. */
  statement: string;
  /** Source of the statement. */
  source: string;
}

/** A recommendation, with the candidates considered. */
export interface Recommendation {
  /** Id of the recommendation; stable as long as the advice is the same. */
  id: string;
  /** Config mask that the final setting applies to. */
  who: string;
  /** Kind of change; "manual": a remedy other than a configuration change. */
  kind: 'set-profile' | 'remove-override' | 'compact' | 'manual';
  /** Profile of the new option string; null if it matches no profile. */
  profile: string | null;
  /** OSDs in the order in which they would be changed. */
  osds: number[];
  /** Option to change: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Running option string. */
  options_from: string;
  /** Option string after the change. */
  options_to: string;
  /** The change in short, as in status. */
  decision: Decision;
  /** Reasons for the change. */
  reasons: Reason[];
  /** Predicted effects: first published measurements of this change on similar hardware and the same release, then estimates of the model; null if there are none. */
  prediction: Prediction[] | null;
  /** Risk of the change. */
  risk: 'low' | 'medium' | 'high';
  /** "now": a hazard, or it relieves what limits; "planned": a clear gain on something that will limit; "optional": with the next restart. */
  priority: 'now' | 'planned' | 'optional';
  /** Confidence in the workload behind the advice; null if it does not depend on a workload. */
  confidence: number | null;
  /** Bottleneck of the clients under the workload behind the advice; null if the advice does not depend on it. */
  limit: Limit | null;
  /** Whether the OSDs must restart. */
  restart_required: boolean;
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands to restore the previous settings. */
  undo_commands: string[];
  /** Candidates considered, as in "recommend --all"; null if none were compared. */
  candidates: Candidate[] | null;
}

/** A recommendation, with the plan to apply it. */
export interface RecommendationInFull {
  /** Id of the recommendation; stable as long as the advice is the same. */
  id: string;
  /** Config mask that the final setting applies to. */
  who: string;
  /** Kind of change; "manual": a remedy other than a configuration change. */
  kind: 'set-profile' | 'remove-override' | 'compact' | 'manual';
  /** Profile of the new option string; null if it matches no profile. */
  profile: string | null;
  /** OSDs in the order in which they would be changed. */
  osds: number[];
  /** Option to change: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Running option string. */
  options_from: string;
  /** Option string after the change. */
  options_to: string;
  /** The change in short, as in status. */
  decision: Decision;
  /** Reasons for the change. */
  reasons: Reason[];
  /** Predicted effects: first published measurements of this change on similar hardware and the same release, then estimates of the model; null if there are none. */
  prediction: Prediction[] | null;
  /** Risk of the change. */
  risk: 'low' | 'medium' | 'high';
  /** "now": a hazard, or it relieves what limits; "planned": a clear gain on something that will limit; "optional": with the next restart. */
  priority: 'now' | 'planned' | 'optional';
  /** Confidence in the workload behind the advice; null if it does not depend on a workload. */
  confidence: number | null;
  /** Bottleneck of the clients under the workload behind the advice; null if the advice does not depend on it. */
  limit: Limit | null;
  /** Whether the OSDs must restart. */
  restart_required: boolean;
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands to restore the previous settings. */
  undo_commands: string[];
  /** Target option string of each OSD. */
  targets: Target[];
  /** Entries of the config store at the end. */
  final_entries: FinalEntry[];
  /** Changed options; null if one of the option strings cannot be parsed. */
  difference: OptionChange[] | null;
  /** Plan of the rollout; null if no rollout applies it. */
  plan: Steps | null;
}

/** All collected data in one document. */
export interface Report {
  /** Document format. */
  format: 'ceph-rocksdb-tuner-report';
  /** Version of the format. */
  version: 1;
  /** Whether names were replaced and free text dropped. */
  anonymous: boolean;
  /** Version of the module. */
  module_version: string;
  /** The module's records, for `python3 -m rocksdb_tuner.offline`. */
  collection: Record<string, unknown>;
}

/** Effect of an option string on one resource. */
export interface ResourceEffect {
  /** The resource. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory';
  /** Change in use relative to the running options; negative is better. */
  estimate_percent: number;
  /** Lower end of the 80% interval. */
  low_percent: number;
  /** Upper end of the 80% interval. */
  high_percent: number;
}

/** A rollout, under way or the last one. */
export interface Rollout {
  /** Kind of operation. */
  kind: 'rollout';
  /** Id of the rollout. */
  id: string;
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** Kind of change. */
  change: 'set-profile' | 'remove-override';
  /** Current phase. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Config mask of the change. */
  who: string;
  /** Changed option: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Client that requested it. */
  actor: string;
  /** Number of OSDs in the rollout. */
  osds_total: number;
  /** Number of finished OSDs. */
  osds_finished: number;
  /** Verdict; null: none, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got worse; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** Start time. ISO 8601, UTC. */
  started: string | null;
  /** Time of the last change. ISO 8601, UTC. */
  updated: string | null;
  /** Why it is paused or waiting; null if it is not. */
  paused_reason: string | null;
  /** Outcome; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What went wrong; null if nothing did. */
  failure: string | null;
  /** OSDs in the order of the changes, in batches, each with a soak before the next. */
  batches: RolloutBatch[];
  /** Purpose of the change: "gain" if a gain is predicted, which the canary has to confirm; else "safety". */
  purpose: 'gain' | 'safety';
  /** Soak time of the canary; most_s 0: no soak. */
  soak: Watch;
  /** Basis of the verdict; null: no verdict. */
  judgement: Judgment | null;
  /** Basis of the verdict on the current batch; null: no verdict yet. */
  batch_judgement: Judgment | null;
  /** Direction; "recover": one OSD failed and is restored; "back": everything is rolled back. */
  direction: 'forward' | 'recover' | 'back';
  /** Client that requested the pause. */
  paused_by: string | null;
  /** Error of the last failed action. */
  last_error: string | null;
  /** Progress of each OSD. */
  osds: RolloutOsd[];
}

/** A batch of OSDs, changed before the next batch. */
export interface RolloutBatch {
  /** Ids of the OSDs. */
  osds: number[];
  /** Failure domain of all of these OSDs; null: unknown. */
  failure_domain: FailureDomain | null;
  /** Current phase. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Verdict; null: none, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got worse; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected. */
  controls: number[];
}

/** Progress of one OSD. */
export interface RolloutOsd {
  /** Id of the OSD. */
  osd: number;
  /** Current step. */
  step: 'pending' | 'setting' | 'restart-due' | 'restarting' | 'checking' | 'settling' | 'verified' | 'collapsing' | 'repinning' | 'collapsed' | 'restoring' | 'restored' | 'left-behind';
  /** Why the rollout skips the OSD; null if it does not. */
  left_reason: string | null;
  /** Option string before the change. */
  from: string | null;
  /** Option string after the change. */
  to: string | null;
  /** Number of requested restarts. */
  restarts_asked: number;
  /** How often it went down again after coming up. */
  flaps: number;
}

/** Running options of an OSD. */
export interface RunningOptions {
  /** Name of the running profile; null: none, or unknown. */
  profile: string | null;
  /** Whether a restart would apply the configured options; false if the OSD would not start with them. */
  pending_restart: boolean | null;
  /** Source of the running value: "default", "mon", "file", "env", "cmdline" or "override". */
  source: string | null;
}

/** Sampling of the OSDs. */
export interface Sampling {
  /** Interval between two samples in seconds; null without sampling, as in offline. */
  interval_s: number | null;
  /** OSDs with at least one usable sample. */
  osds: number;
  /** Age of the newest report of an OSD, in seconds. */
  last_sample_age_s: number | null;
  /** CPU time of a sampling with its share of the evaluations, in milliseconds. */
  tick_ms: number | null;
  /** Measured interval between two reports of an OSD (mgr_stats_period), in seconds; null if unknown, as in offline. */
  report_interval_s: number | null;
  /** Whether OSDs report often enough: ok, slow (too rarely to be judged) or none; null if unknown, as in offline. */
  reports: 'ok' | 'slow' | 'none' | null;
}

/** The module reports values outside of these as dangerous; both inclusive. */
export interface SaneRange {
  minimum: number;
  maximum: number;
  /** Reason for the limits. */
  why: string;
}

/** One of the two option strings. */
export interface Side {
  /** Name of the profile or OSD. */
  name: string;
  /** bluestore_rocksdb_options; with the annex of the OSD, if one is compared. */
  options: string;
}

/** Change of one signal on the canary relative to its controls. */
export interface SignalVerdict {
  /** Name of the signal, as in knowledge/judged_signals.json. */
  signal: string;
  /** Effect; "unclear": too little data. */
  effect: 'better' | 'same' | 'worse' | 'unclear';
  /** Change of the OSD relative to its controls; null: unknown. */
  change_percent: number | null;
  /** Lower end of the interval; null: unbounded. */
  low_percent: number | null;
  /** Upper end of the interval; null: unbounded. */
  high_percent: number | null;
}

/** Soak time of changed OSDs. */
export interface SoakTime {
  /** Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to soak_max if that is longer. */
  least_s: number | null;
  /** Maximum soak time in seconds; 0: no soak. */
  most_s: number | null;
  /** Action if there is no verdict after most_s. */
  inconclusive: 'wait' | 'promote' | 'rollback';
}

/** A publication. */
export interface Source {
  /** Title. */
  title: string;
  /** Author. */
  author: string;
  /** Year. */
  year: number;
  /** Section. */
  section: string;
  /** URL; null: none. */
  url: string | null;
}

/** Overview of the module. */
export interface Status {
  /** Time of the data. ISO 8601, UTC. */
  time: string | null;
  /** Operating mode of the module. */
  mode: 'off' | 'observe' | 'recommend' | 'auto-apply';
  /** Release of the active mgr; null if the module does not support it. */
  release: string | null;
  /** Version of the module. */
  version: string;
  sampling: Sampling;
  /** What to do about each group; one for all OSDs if there is no group. */
  decisions: Decision[];
  /** OSDs by device class. */
  groups: Group[];
  /** Number of findings by severity. */
  findings: FindingCounts;
  /** Number of recommendations. */
  recommendations: number;
  /** The operation under way, or the last one; null before the first. */
  operation: OperationSummary | null;
  /** Recommendations that auto-apply does not apply yet; empty in other modes. */
  auto_apply: NotApplied[];
  /** Accuracy of the predictions for all ended changes. */
  track_record: TrackRecord;
  /** The known active and standby mgrs. */
  managers: Manager[];
  /** Limitations and problems of the module. */
  notices: string[];
}

/** The plan to apply a recommendation. */
export interface Steps {
  /** OSDs in the order in which they would be changed, in batches of at most one failure domain, each with a soak before the next. */
  batches: PlannedBatch[];
  /** Canary: the OSD to change and judge first; null: no verdict. */
  canary: number | null;
  /** Ids of the control OSDs of the canary. */
  controls: number[];
  /** Purpose of the change: "gain" if a gain is predicted, which the canary has to confirm; else "safety". */
  purpose: 'gain' | 'safety';
  /** Soak time of the canary; most_s 0: no soak. */
  soak: CanarySoak;
  /** Conditions that must hold before each restart. */
  gates: string[];
  /** Minimum duration in seconds, without any waiting for gates. */
  expected_duration_s: number;
  /** The same with the maximum soak time. */
  expected_duration_most_s: number;
}

/** A member of an option that is a struct. */
export interface StructMember {
  /** Name of the member. */
  name: string;
  /** Type of its value; "ignored": RocksDB ignores it. */
  type: string;
  /** Defaults by RocksDB version. */
  defaults: Record<string, string>;
}

/** Suitability of a profile for a workload and RocksDB versions (inclusive). */
export interface SuitabilityRule {
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Oldest RocksDB version. */
  rocksdb_min: string;
  /** Newest RocksDB version; null: no upper limit. */
  rocksdb_max: string | null;
  /** Whether this applies only if it is the release's own default. */
  only_as_release_default: boolean;
  /** Rank among profiles for the same workload and release, 0..1; not a probability. */
  score: number;
  /** Reasons. */
  reasons: string[];
}

/** Target option string of an OSD. */
export interface Target {
  /** Id of the OSD. */
  osd: number;
  /** Option string after the change. */
  options: string;
  /** Failure domain of the OSD; null: unknown. */
  failure_domain: FailureDomain | null;
}

/** RocksDB's own counters. */
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

/** The goal of the experiment in one arm, as known after one block. */
export interface TracedArm {
  /** Name of the arm: the profile that it tries. */
  name: string;
  /** Most likely change; null: unknown. */
  estimate_percent: number | null;
  /** Lower end of the interval; null: unbounded. */
  low_percent: number | null;
  /** Upper end of the interval; null: unbounded. */
  high_percent: number | null;
}

/** All remaining arms after one block. */
export interface TracedBlock {
  /** Period of the block. */
  period: number;
  /** Number of measured blocks of that period. */
  block: number;
  /** End of the block. ISO 8601, UTC. */
  time: string | null;
  arms: TracedArm[];
}

/** Accuracy of the predictions for all ended changes. */
export interface TrackRecord {
  /** Number of ended changes. */
  changes: number;
  /** Changes, and arms of experiments, with a prediction and a comparable measurement. */
  compared: number;
  /** Changes whose measured and predicted intervals overlap. */
  right: number;
  /** Changes of which only the direction was predicted correctly. */
  direction: number;
  /** All other compared changes. */
  wrong: number;
  /** Measured values within the predicted interval. */
  held: number;
  /** Mean width of the predicted intervals, in percentage points; null without comparisons. */
  mean_width_percent: number | null;
  /** Mean interval score of the predictions at 80%: width plus ten times the distance of measured values outside the interval. Lower is better. */
  interval_score: number | null;
  /** Interval score of a forecast without any change, for comparison. */
  naive_interval_score: number | null;
}

/** Time series of an OSD or a device class; values are within 0.05%. */
export interface Trend {
  /** Id of the OSD; null for a device class. */
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
  /** Client writes per second. */
  write_iops: (number | null)[];
  /** Bytes written to the WAL per second. */
  wal_bytes_per_s: (number | null)[];
  /** Bytes written to SST files per second. */
  sst_bytes_per_s: (number | null)[];
  /** Bytes written by compaction per second. */
  compaction_bytes_per_s: (number | null)[];
  /** (WAL + SST bytes) / WAL bytes. */
  db_write_amp: (number | null)[];
  /** Bytes used on the DB device. */
  db_used_bytes: (number | null)[];
}

/** One arm of an experiment. */
export interface TriedOptions {
  /** Name of the arm: the profile that it tried. */
  name: string;
  /** Option string of the arm. */
  options: string;
  /** Change of the signal against unchanged OSDs; null: unknown. */
  change_percent: number | null;
  /** Lower end of the interval; null: unbounded. */
  low_percent: number | null;
  /** Upper end of the interval; null: unbounded. */
  high_percent: number | null;
  /** Why it ended early; null if it did not. */
  dropped: string | null;
}

/** OSDs that run the same profile from the same source. */
export interface Variant {
  /** Name of the profile; null if it matches none. */
  profile: string | null;
  /** Source of the running value: "default", "mon", "file", "env", "cmdline" or "override". */
  source: string;
  /** Ids of the OSDs. */
  osds: number[];
}

/** The write-ahead log. */
export interface WalModel {
  /** WAL size at which RocksDB flushes the memtables that need the oldest WAL file. */
  limit_bytes: number;
  /** Setting that determines the limit. */
  limited_by: 'max_total_wal_size' | 'memtables';
  /** Bytes preallocated for each WAL file. */
  file_bytes: number;
  /** Space of all WAL files on their device. */
  device_bytes: Estimate;
  /** Size of the device with the WAL. */
  device_total_bytes: number | null;
  /** Whether the WAL fits on its device. */
  fits_device: boolean | null;
  /** Seconds until an empty WAL reaches the limit. */
  fill_s: number | null;
}

/** Soak times, planned and elapsed. */
export interface Watch {
  /** Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to soak_max if that is longer. */
  least_s: number | null;
  /** Maximum soak time in seconds; 0: no soak. */
  most_s: number | null;
  /** Action if there is no verdict after most_s. */
  inconclusive: 'wait' | 'promote' | 'rollback';
  /** Modeled time between two memtable flushes under the current load, with the slower of the two option strings; null: unknown. */
  fill_s: number | null;
  /** Action if the canary is neither better nor worse. */
  no_benefit: 'promote' | 'rollback';
  /** Soak time of each later batch; null: no soak. */
  batches: SoakTime | null;
  /** Baseline time of the canary and its controls before the change, as measured by this mgr; 0 after a failover. */
  baseline_s: number | null;
  /** Minimum baseline time in seconds; 0: no baseline. */
  baseline_least_s: number | null;
  /** Elapsed soak time of the canary, without interruptions. */
  soaked_s: number | null;
  /** Elapsed soak time of the current batch. */
  batch_soaked_s: number | null;
  /** Ids of the control OSDs. */
  controls: number[];
}

/** Workload of the clients, with evidence. */
export interface Workload {
  /** Workload class; "unknown": not enough data. */
  class: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Confidence, 0..1; 0 for the class "unknown". */
  confidence: number;
  /** Measurements that support the class. */
  evidence: Evidence[];
}

/** Workload of the clients. */
export interface WorkloadSummary {
  /** Workload class; "unknown": not enough data. */
  class: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Confidence, 0..1; 0 for the class "unknown". */
  confidence: number;
}

/** Workloads by group and by OSD, with evidence. */
export interface Workloads {
  /** Workloads by device class. */
  groups: GroupWorkload[];
  /** Workloads by OSD. */
  osds: OsdWorkload[];
}

/** Breakdown of client write latency. */
export interface WriteLatency {
  /** Seconds between the two samples. */
  window_s: number | null;
  /** Parts in the order of the write path. */
  parts: LatencyPart[];
  /** The part with the highest latency; null without writes or with too little data. */
  bottleneck: Bottleneck | null;
}
