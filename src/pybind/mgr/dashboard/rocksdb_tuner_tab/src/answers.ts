// Made from the answers of the module: see `make answers`. Not to be changed by hand.

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

/** How much the module may do. */
export interface ModeInForce {
  /** The mode in force. */
  mode: 'off' | 'observe' | 'recommend' | 'auto-apply';
  /** All modes. */
  possible: ('off' | 'observe' | 'recommend' | 'auto-apply')[];
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

/** How far one OSD is. */
export interface OsdInOperation {
  /** Id of an OSD. */
  osd: number;
  /** As in rollout status, by the kind of the operation. */
  step: string;
  /** Why it was left as it is; null where it was not. */
  reason: string | null;
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
