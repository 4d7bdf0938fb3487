// Generated from the answers of the module by `make answers`. Do not edit.

/** What is not known: everything is null. */
export type OrNulls<T> = { [K in keyof T]: T[K] | null };

/** An option string on some OSDs. */
export interface Arm {
  /** Name of the arm: the profile that it tries. */
  name: string;
  /** Option string of the arm. */
  options: string;
  /** Prediction of the model and published figures; null: none. */
  predicted: Predicted | null;
  /** OSDs of the arm. */
  osds: number[];
  /** Effect on each signal, the goal of the experiment first. */
  effect: SignalVerdict[];
  /** Verdict so far; "failed": an OSD crashed or did not start; null: none yet. */
  verdict: 'better' | 'same' | 'worse' | 'unclear' | 'failed' | null;
  /** Why it ended before the experiment, as a phrase; null if it did not. */
  dropped: string | null;
}

/** Candidates of one group, and the choice; all null if none were compared. */
export interface Assessment {
  /** Config mask of the group. */
  who: string;
  /** The change of options that was chosen, or why none was. */
  decision: Decision;
  /** Minimum saving of a resource, with 80% probability. */
  min_gain: number | null;
  /** Maximum additional use of any other resource, with 80% probability. */
  max_loss: number | null;
  /** Resources that may be plentiful: higher usage is reported but allowed. */
  unconstrained: ('kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | 'data-device' | 'network' | 'none' | 'unknown')[] | null;
  /** Candidates that were compared. */
  candidates: Weighed[] | null;
  /** Limiting resource, or else that of the largest saving. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | 'data-device' | 'network' | 'none' | 'unknown' | null;
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
  /** Progress of each OSD. */
  osds: OsdCompaction[];
  /** Start time. ISO 8601, UTC. */
  started: string | null;
  /** Time of the last change. ISO 8601, UTC. */
  updated: string | null;
  /** Why no further OSD starts; null if nothing blocks it. */
  paused_reason: string | null;
  /** Client write latency before the first compaction; null without client writes. */
  baseline_ms: number | null;
  /** Outcome; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What went wrong; null if nothing did. */
  failure: string | null;
  /** Current phase. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Space used before compaction, over OSDs with both measurements. */
  used_before_bytes: number | null;
  /** Space used after compaction by the same OSDs. */
  used_after_bytes: number | null;
}

/** Soak time of the canary; most_s 0: no soak. */
export interface CanarySoak {
  /** Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to soak_max if that is longer. */
  least_s: number | null;
  /** Maximum soak time in seconds; 0: no soak. */
  most_s: number | null;
  /** Action if there is no verdict after most_s. */
  inconclusive: 'wait' | 'promote' | 'rollback';
  /** Soak time of each later batch; null: no soak. */
  batches: Pick<SoakPlan, 'least_s' | 'most_s' | 'inconclusive'> | null;
  /** Modeled time between two memtable flushes under the current load, with the slower of the two option strings; null: unknown. */
  fill_s: number | null;
  /** Action if the canary is neither better nor worse. */
  no_benefit: 'promote' | 'rollback';
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
  /** Measurement, in words; null: none. */
  measured: string | null;
  /** Prediction, in numbers; null: none. */
  predicted_effect: Predicted | null;
  /** Changed option: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Kind of operation. */
  kind: 'rollout' | 'compaction' | 'experiment';
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

/** Comparison of a prediction with the measurement. */
export interface Comparison {
  /** Signal of the comparison. */
  signal: string;
  /** Lower end of the predicted change of this signal; null: unbounded. */
  predicted_low_percent: number | null;
  /** Upper end of the predicted change of this signal; null: unbounded. */
  predicted_high_percent: number | null;
  /** Measured change of the signal. */
  measured_percent: number | null;
  /** Lower end of the measured interval. */
  measured_low_percent: number | null;
  /** Upper end of the measured interval. */
  measured_high_percent: number | null;
  /** right: the intervals overlap; direction: they do not, but the direction was predicted correctly. */
  result: 'right' | 'direction' | 'wrong';
  /** Whether the measured change is in the predicted interval. */
  held: boolean;
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
  /** Config mask of the group. */
  who: string;
  /** The judged signal that arms are expected to improve. */
  signal: string;
  /** Option string that the group runs. */
  options_from: string;
  /** Length of a block in seconds. */
  block_s: number;
  /** Maximum duration in seconds. */
  max_duration_s: number;
  /** OSDs that stay unchanged for comparison. */
  controls: number[];
  /** Smallest difference that is detected, with the noise measured on these OSDs; null: unknown. */
  detectable_percent: number | null;
  /** Smallest worsening that ends an arm within three blocks; null: unknown. */
  unsafe_percent: number | null;
  /** Smaller differences count as none. */
  min_effect_percent: number;
  /** Planned duration in seconds, without waiting for gates; null: no plan. */
  duration_s: number | null;
  /** Planned restarts of OSDs, including the last; null: no plan. */
  restarts: number | null;
  /** Blocks of the baseline, and as many after the change; null: no plan. */
  planned_blocks: number | null;
  /** Client that requested it. */
  actor: string;
  /** Whether the winner is applied to the group at the end. */
  adopt: boolean;
  /** Start time. ISO 8601, UTC. */
  started: string | null;
  /** Time of the last change. ISO 8601, UTC. */
  updated: string | null;
  /** End time; null while it is under way. ISO 8601, UTC. */
  ended: string | null;
  /** Client that requested the pause. */
  paused_by: string | null;
  /** Why it is paused or waiting; null if it is not. */
  paused_reason: string | null;
  /** Outcome; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What went wrong; null if nothing did. */
  failure: string | null;
  /** Current phase. */
  phase: 'planned' | 'baseline' | 'changing' | 'measuring' | 'restoring' | 'waiting' | 'done' | 'failed' | 'aborted';
  /** The compared option strings. */
  arms: Arm[];
  /** Number of measured blocks. */
  blocks: number;
  /** Result; "no-difference": no arm differs by the minimum effect; "no-gain": no arm is better by it; "unclear": the data is inconclusive; null: not yet. */
  conclusion: 'winner' | 'no-difference' | 'no-gain' | 'unclear' | 'failed' | null;
  /** Best arm; null: none, or not yet. */
  winner: string | null;
  /** State or result, as a sentence. */
  summary: string;
}

/** Result of an experiment. */
export interface ExperimentOutcome {
  /** The judged signal that arms are expected to improve. */
  signal: string;
  /** Smaller differences count as none. */
  min_effect_percent: number;
  /** Result; "no-difference": no arm differs by the minimum effect; "no-gain": no arm is better by it; "unclear": the data is inconclusive; null: not yet. */
  conclusion: 'winner' | 'no-difference' | 'no-gain' | 'unclear' | 'failed' | null;
  /** Best arm; null: none, or not yet. */
  winner: string | null;
  /** The arms. */
  arms: Arm[];
}

/** Preview of `experiment start`: an experiment without an id, times and a result. */
export interface ExperimentPlan {
  /** Id of the experiment, as in history. */
  id: string | null;
  /** Start time. ISO 8601, UTC. */
  started: string | null;
  /** End time; null while it is under way. ISO 8601, UTC. */
  ended: string | null;
  /** Always "planned". */
  phase: 'planned';
  /** Option strings to compare; without any effects. */
  arms: Arm[];
  /** Config mask of the group. */
  who: string;
  /** The judged signal that arms are expected to improve. */
  signal: string;
  /** Option string that the group runs. */
  options_from: string;
  /** Length of a block in seconds. */
  block_s: number;
  /** Maximum duration in seconds. */
  max_duration_s: number;
  /** OSDs that stay unchanged for comparison. */
  controls: number[];
  /** Smallest difference that is detected, with the noise measured on these OSDs; null: unknown. */
  detectable_percent: number | null;
  /** Smallest worsening that ends an arm within three blocks; null: unknown. */
  unsafe_percent: number | null;
  /** Smaller differences count as none. */
  min_effect_percent: number;
  /** Planned duration in seconds, without waiting for gates; null: no plan. */
  duration_s: number | null;
  /** Planned restarts of OSDs, including the last; null: no plan. */
  restarts: number | null;
  /** Blocks of the baseline, and as many after the change; null: no plan. */
  planned_blocks: number | null;
  /** Result; "no-difference": no arm differs by the minimum effect; "no-gain": no arm is better by it; "unclear": the data is inconclusive; null: not yet. */
  conclusion: 'winner' | 'no-difference' | 'no-gain' | 'unclear' | 'failed' | null;
  /** Best arm; null: none, or not yet. */
  winner: string | null;
  /** The plan or the refusal, as a sentence. */
  summary: string;
  /** null if the experiment is possible. */
  refusal: Refusal | null;
  /** Risks, in sentences. */
  risk: string[];
  /** Limitations of the experiment, in sentences. */
  unknown: string[];
  /** Conditions that must hold before each restart. */
  gates: string[];
  /** Command that starts it; empty if it is not possible. */
  command: string;
}

/** The CRUSH bucket in which a placement group has at most one copy. */
export interface FailureDomain {
  /** CRUSH type: host, rack, ...; osd if each OSD is its own failure domain. */
  type: string;
  /** Name of the bucket, or of the OSD. */
  name: string;
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

/** The OSDs of one device class. */
export interface Group {
  /** Config mask of the group. */
  who: string;
  /** Ids of the OSDs. */
  osds: number[];
  /** Current bottleneck of the clients of the group. */
  limit: Limit;
  /** Workload of the clients. */
  workload: Workload;
  /** Running options of the OSDs. */
  options: OptionsInUse;
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

/** Hardware that a profile suits. */
export interface Hardware {
  /** A loss was published for this number of cores per OSD, or fewer. */
  loses_at_cores_per_osd: number | null;
  /** Further notes. */
  notes: string[];
}

/** Basis of a verdict. */
export interface Judgement {
  /** Effect of the change on each signal. */
  signals: SignalVerdict[];
  /** Data missing for a verdict, in words. */
  missing: string[];
  /** Cause of the verdict other than the signals; null: none. */
  cause: string | null;
  /** Whether the verdict is "better". */
  better: boolean;
}

/** Current bottleneck of the clients. */
export interface Limit {
  /** Limiting resource; "none": no measured resource is limiting; "unknown": not enough data. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | 'data-device' | 'network' | 'none' | 'unknown';
  /** Confidence, 0..1; 0 for "unknown". */
  confidence: number;
  /** Measurements that support it. */
  evidence: Evidence[];
  /** Part of a write that takes the time in it, such as "flushing the data device"; null: unknown. */
  part: string | null;
  /** What would relieve it; null if nothing is known to limit. */
  relief: string | null;
  /** Share of a commit that options can shorten; null: all of it, or unknown. */
  thread_share: number | null;
}

/** A text for every OSD. */
export interface Named {
  /** Distinct texts; null: unknown, or none. */
  names: (string | null)[];
  /** Index of the text of each OSD. */
  index: number[];
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

/** An option that differs. */
export interface OptionDifference {
  /** Name of a RocksDB option. */
  option: string;
  /** Value before; null: not set. */
  from: string | null;
  /** Value after; null: not set. */
  to: string | null;
}

/** Running options of the OSDs of a group. */
export interface OptionsInUse {
  /** Variants, most frequent first; without OSDs whose options are unknown. */
  variants: Variant[];
  /** OSDs whose configured options a restart would apply. */
  pending_restart: number[];
  /** Profile that all of them run; null if they differ or match no profile. */
  profile: string | null;
  /** Source of the options of all OSDs; null if it differs or is unknown. */
  source: string | null;
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

/** Columnar map: every list and every index has as many items as osds. */
export interface OsdMap {
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

/** Progress of one OSD, and the process it refers to. */
export interface OsdProgress {
  /** Id of the OSD. */
  osd: number;
  /** Current step. */
  step: 'pending' | 'setting' | 'restart-due' | 'restarting' | 'checking' | 'settling' | 'verified' | 'collapsing' | 'collapsed' | 'restoring' | 'restored' | 'left-behind';
  /** Number of requested restarts. */
  restarts_asked: number;
  /** How often it went down again after coming up. */
  flaps: number;
  /** Why the rollout skips the OSD; null if it does not. */
  left_reason: string | null;
}

/** Preview of `apply`. */
export interface Plan {
  /** Kind of change; "manual": a remedy other than a configuration change. */
  kind: 'set-profile' | 'remove-override' | 'compact' | 'manual';
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
  /** Id of the recommendation that it applies. */
  recommendation: string;
  /** Purpose of the change: "gain" if a gain is predicted, which the canary has to confirm; else "safety". */
  purpose: 'gain' | 'safety';
  /** OSDs in the order in which they would be changed, in batches of at most one failure domain, each with a soak before the next. */
  batches: PlannedBatch[];
  /** Soak time of the canary; most_s 0: no soak. */
  soak: CanarySoak;
  /** Minimum duration in seconds, without any waiting for gates. */
  expected_duration_s: number;
  /** The same with the maximum soak time. */
  expected_duration_most_s: number;
  /** Conditions that must hold before each restart. */
  gates: string[];
  /** Canary: the OSD to change and judge first; null: no verdict. */
  canary: number | null;
  /** Ids of the control OSDs of the canary. */
  controls: number[];
}

/** OSDs that are changed one by one, before the next batch. */
export interface PlannedBatch {
  /** Ids of the OSDs. */
  osds: number[];
  /** Failure domain of all of these OSDs; null: unknown. */
  failure_domain: FailureDomain | null;
  /** Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected. */
  controls: number[];
}

/** A predicted change of one metric. */
export interface Predicted {
  /** The metric that would change. */
  metric: string;
  /** Lower end of the predicted change, in percent. */
  low_percent: number | null;
  /** Upper end of the predicted change. */
  high_percent: number | null;
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

/** A named option string. */
export interface Profile {
  /** Name of the profile. */
  name: string;
  /** Short description. */
  title: string;
  /** bluestore_rocksdb_options, exactly as published. */
  options: string;
  /** Releases with this profile as the default. */
  release_defaults: string[];
  /** Workloads that it suits. */
  suitability: SuitabilityRule[];
  /** Hardware that it suits. */
  hardware: Hardware;
  /** Published measurements. */
  evidence: PublishedEvidence[];
  /** Cautions. */
  cautions: string[];
  /** Why it should no longer be used; null: not superseded. */
  superseded: string | null;
  /** RocksDB version from which it is superseded. */
  superseded_from_rocksdb: string | null;
  /** Publication of the profile. */
  source: string;
  /** Releases of a custom profile; empty for a built-in profile. */
  own_releases: string[];
  /** The experiment that found it; null: not from an experiment. */
  provenance: Provenance | null;
  /** Whether it is a custom profile; only an experiment can make one recommended. */
  own: boolean;
  /** Workloads that it is designed for. */
  workloads: ('idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown')[];
}

/** The experiment that found a custom profile; None: unknown, or not bounded. */
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
export interface PublishedEvidence {
  /** Workload of the measurement. */
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Metric of the measurement. */
  metric: string;
  /** Unit of the values. */
  unit: string;
  /** Baseline of the comparison. */
  baseline: string;
  /** Value of the baseline; null: only the change was published. */
  baseline_value: number | null;
  /** Measured value. */
  value: number;
  /** Change relative to the baseline, in percent. */
  change_percent: number;
  /** Hardware and load of the measurement. */
  setup: string;
  /** Whether predictions use this measurement. */
  headline: boolean;
  /** The publication. */
  source: Source;
  /** Effective options of the baseline; predictions use the measurement only if these are in effect. */
  baseline_options: Record<string, string>;
  /** Releases of the measurement; empty: unknown. */
  releases: string[];
  /** Hardware of the measurement; empty: unknown. */
  hardware: ('nvme' | 'ssd-db+hdd' | 'hdd')[];
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
  /** Kind of change; "manual": a remedy other than a configuration change. */
  kind: 'set-profile' | 'remove-override' | 'compact' | 'manual';
  /** Config mask that the final setting applies to. */
  who: string;
  /** OSDs in the order in which they would be changed. */
  osds: number[];
  /** Profile of the new option string; null if it matches no profile. */
  profile: string | null;
  /** Running option string. */
  options_from: string;
  /** Option string after the change. */
  options_to: string;
  /** Reasons for the change. */
  reasons: Reason[];
  /** Risk of the change. */
  risk: 'low' | 'medium' | 'high';
  /** "now": a hazard, or it relieves what limits; "planned": a clear gain on something that will limit; "optional": with the next restart. */
  priority: 'now' | 'planned' | 'optional';
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands to restore the previous settings. */
  undo_commands: string[];
  /** The change in short, as in status. */
  decision: Decision;
  /** Confidence in the workload behind the advice; null if it does not depend on a workload. */
  confidence: number | null;
  /** Bottleneck of the clients under the workload behind the advice; null if the advice does not depend on it. */
  limit: Limit | null;
  /** Whether the OSDs must restart. */
  restart_required: boolean;
  /** Predicted effects: first published measurements of this change on similar hardware and the same release, then estimates of the model; null if there are none. */
  prediction: Prediction[] | null;
  /** Option to change: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Candidates considered, as in "recommend --all"; null if none were compared. */
  candidates: Weighed[] | null;
}

/** A recommendation, with the options that it changes. */
export interface RecommendationInFull {
  /** Id of the recommendation; stable as long as the advice is the same. */
  id: string;
  /** Kind of change; "manual": a remedy other than a configuration change. */
  kind: 'set-profile' | 'remove-override' | 'compact' | 'manual';
  /** Config mask that the final setting applies to. */
  who: string;
  /** OSDs in the order in which they would be changed. */
  osds: number[];
  /** Profile of the new option string; null if it matches no profile. */
  profile: string | null;
  /** Running option string. */
  options_from: string;
  /** Option string after the change. */
  options_to: string;
  /** Reasons for the change. */
  reasons: Reason[];
  /** Risk of the change. */
  risk: 'low' | 'medium' | 'high';
  /** "now": a hazard, or it relieves what limits; "planned": a clear gain on something that will limit; "optional": with the next restart. */
  priority: 'now' | 'planned' | 'optional';
  /** The exact commands, in order. */
  commands: string[];
  /** The exact commands to restore the previous settings. */
  undo_commands: string[];
  /** The change in short, as in status. */
  decision: Decision;
  /** Confidence in the workload behind the advice; null if it does not depend on a workload. */
  confidence: number | null;
  /** Bottleneck of the clients under the workload behind the advice; null if the advice does not depend on it. */
  limit: Limit | null;
  /** Whether the OSDs must restart. */
  restart_required: boolean;
  /** Predicted effects: first published measurements of this change on similar hardware and the same release, then estimates of the model; null if there are none. */
  prediction: Prediction[] | null;
  /** Option to change: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Changed options; null if one of the option strings cannot be parsed. */
  difference: OptionDifference[] | null;
}

/** Why no experiment is possible, and the requirements. */
export interface Refusal {
  /** The reason, as a phrase. */
  reason: string;
  /** Required size of the group; null: unknown, or none suffices. */
  osds: number | null;
  /** Required duration with these OSDs; null: unknown, or none suffices. */
  duration_s: number | null;
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
  /** Config mask of the change. */
  who: string;
  /** Client that requested it. */
  actor: string;
  /** Changed option: the option string, or the annex that OSDs append to it. */
  option: string;
  /** Purpose of the change: "gain" if a gain is predicted, which the canary has to confirm; else "safety". */
  purpose: 'gain' | 'safety';
  /** Start time. ISO 8601, UTC. */
  started: string | null;
  /** Time of the last change. ISO 8601, UTC. */
  updated: string | null;
  /** Direction; "recover": one OSD failed and is restored; "back": everything is rolled back. */
  direction: 'forward' | 'recover' | 'back';
  /** Why it is paused or waiting; null if it is not. */
  paused_reason: string | null;
  /** Client that requested the pause. */
  paused_by: string | null;
  /** Error of the last failed action. */
  last_error: string | null;
  /** Basis of the verdict; null: no verdict. */
  judgement: Judgement | null;
  /** Basis of the verdict on the current batch; null: no verdict yet. */
  batch_judgement: Judgement | null;
  /** Outcome; null while it is under way. */
  outcome: 'done' | 'rolled-back' | 'failed' | 'aborted' | 'waiting' | null;
  /** What went wrong; null if nothing did. */
  failure: string | null;
  /** Current phase. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Number of OSDs in the rollout. */
  osds_total: number;
  /** Number of finished OSDs. */
  osds_finished: number;
  /** Verdict; null: none, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got worse; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
  /** OSDs in the order of the changes, in batches, each with a soak before the next. */
  batches: RolloutBatch[];
  /** Soak time of the canary; most_s 0: no soak. */
  soak: Watch;
  /** Progress of each OSD. */
  osds: OsdProgress[];
}

/** A batch of OSDs, changed before the next batch. */
export interface RolloutBatch {
  /** Ids of the OSDs. */
  osds: number[];
  /** Failure domain of all of these OSDs; null: unknown. */
  failure_domain: FailureDomain | null;
  /** Current phase. */
  phase: 'planned' | 'preflight' | 'canary' | 'soaking' | 'judging' | 'promoting' | 'collapsing' | 'done' | 'rolling-back' | 'rolled-back' | 'waiting' | 'failed';
  /** Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected. */
  controls: number[];
  /** Verdict; null: none, or not yet. */
  verdict: 'pass' | 'fail' | 'inconclusive' | 'no-data' | null;
  /** Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got worse; null: as for verdict. */
  judged: 'better' | 'no-worse' | 'worse' | 'inconclusive' | 'no-data' | null;
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

/** Change of one signal on the canary relative to its controls. */
export interface SignalVerdict {
  /** Name of the signal, as in knowledge/judged_signals.json. */
  signal: string;
  /** Effect; "unclear": too little data. */
  effect: 'better' | 'same' | 'worse' | 'unclear';
  /** Most likely change relative to the controls; negative is better. null: unknown. */
  estimate_percent: number | null;
  /** Lower end of the interval; null: unbounded. */
  low_percent: number | null;
  /** Upper end of the interval; null: unbounded. */
  high_percent: number | null;
}

/** Soak time of changed OSDs before the rollout goes on. */
export interface SoakPlan {
  /** Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to soak_max if that is longer. */
  least_s: number | null;
  /** Maximum soak time in seconds; 0: no soak. */
  most_s: number | null;
  /** Action if there is no verdict after most_s. */
  inconclusive: 'wait' | 'promote' | 'rollback';
  /** Soak time of each later batch; null: no soak. */
  batches: Pick<SoakPlan, 'least_s' | 'most_s' | 'inconclusive'> | null;
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
  /** Sampling of the OSDs. */
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
  /** Accuracy of the predictions for all ended changes. */
  track_record: TrackRecord;
  /** Limitations and problems of the module. */
  notices: string[];
}

/** Suitability of a profile for a workload and RocksDB versions (inclusive). */
export interface SuitabilityRule {
  /** The workload. */
  workload: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Oldest RocksDB version. */
  rocksdb_min: string;
  /** Newest RocksDB version; null: no upper limit. */
  rocksdb_max: string | null;
  /** Reasons. */
  reasons: string[];
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

/** Effect of an option string on one resource. */
export interface Usage {
  /** The resource. */
  resource: 'kv-sync' | 'cores' | 'db-device' | 'db-space' | 'wal-space' | 'memory' | 'data-device' | 'network' | 'none' | 'unknown';
  /** Change in use relative to the running options; negative is better. */
  estimate_percent: number;
  /** Lower end of the 80% interval. */
  low_percent: number;
  /** Upper end of the 80% interval. */
  high_percent: number;
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

/** Soak times, planned and elapsed. */
export interface Watch {
  /** Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to soak_max if that is longer. */
  least_s: number | null;
  /** Maximum soak time in seconds; 0: no soak. */
  most_s: number | null;
  /** Action if there is no verdict after most_s. */
  inconclusive: 'wait' | 'promote' | 'rollback';
  /** Soak time of each later batch; null: no soak. */
  batches: Pick<SoakPlan, 'least_s' | 'most_s' | 'inconclusive'> | null;
  /** Modeled time between two memtable flushes under the current load, with the slower of the two option strings; null: unknown. */
  fill_s: number | null;
  /** Action if the canary is neither better nor worse. */
  no_benefit: 'promote' | 'rollback';
  /** Baseline time of the canary and its controls before the change, as measured by this mgr; 0 after a failover. */
  baseline_s: number | null;
  /** Minimum baseline time in seconds; 0: no baseline. */
  baseline_least_s: number | null;
  /** Elapsed soak time of the canary, without interruptions. */
  soaked_s: number | null;
  /** Ids of the control OSDs. */
  controls: number[];
}

/** A candidate option string, compared with the running options. */
export interface Weighed {
  /** Name of the profile, or "derived". */
  name: string;
  /** "running": the running options; "successor": the default of later releases; "default": the default of the release; "derived": computed from the published goals for these OSDs. */
  origin: 'running' | 'successor' | 'default' | 'profile' | 'derived';
  /** Option string. */
  options: string;
  /** Name of the profile; null if it matches none. */
  profile: string | null;
  /** Why it is infeasible, in sentences; empty if it is feasible. */
  infeasible: string[];
  /** Effect on each resource; empty for running options and infeasible candidates. */
  effects: Usage[];
  /** Why it was not chosen, as a sentence; null for the chosen candidate, running options and infeasible candidates. */
  short: string | null;
  /** Experiment on this cluster that measured it against the running options; null: none. */
  measured_in: string | null;
  /** Whether it was chosen for the group. */
  chosen: boolean;
}

/** Workload of the clients. */
export interface Workload {
  /** Workload class; "unknown": not enough data. */
  class: 'idle' | 'rbd-small-write' | 'rgw-metadata' | 'large-write' | 'read-mostly' | 'cephfs-metadata' | 'recovery' | 'mixed' | 'unknown';
  /** Confidence, 0..1; 0 for the class "unknown". */
  confidence: number;
  /** Measurements that support the class. */
  evidence: Evidence[];
}
