/** The REST API of the RocksDB Tuner: its answers are the JSON of the command line. */

import type { SignalEffect } from './answers';

export type { Change, Growth, SignalEffect, Trend } from './answers';

export interface Workload {
  class: string;
  confidence: number;
}

/** What bounds the clients of OSDs; resource "none" or "unknown" included. */
export interface Limit {
  resource: string;
  confidence: number;
  evidence: {
    signal: string;
    value: number | null;
    unit: string;
    window_s: number | null;
    statement: string;
  }[];
}

export interface Group {
  who: string;
  osds: number[];
  workload: Workload;
  limit: Limit;
  options: {
    profile: string | null;
    source: string | null;
    pending_restart: number[];
    variants: { profile: string | null; source: string | null; osds: number[] }[];
  };
  conclusion: string | null;
}

export interface RolloutSummary {
  id: string;
  recommendation: string;
  phase: string;
  who: string;
  /** The option that is written: the string, or the annex that OSDs append to it. */
  option: string;
  actor: string;
  osds_total: number;
  osds_finished: number;
  verdict: string | null;
  judged: string | null;
  started: string | null;
  updated: string | null;
  paused_reason: string | null;
  outcome: string | null;
  failure: string | null;
}

export interface Status {
  time: string | null;
  mode: string;
  release: string | null;
  sampling: { interval_s: number | null; osds: number; last_sample_age_s: number | null };
  groups: Group[];
  findings: { error: number; warning: number; info: number };
  recommendations: number;
  rollout: RolloutSummary | null;
  track_record: {
    changes: number;
    compared: number;
    right: number;
    direction: number;
    wrong: number;
    held: number;
    mean_width_percent: number | null;
    interval_score: number | null;
    naive_interval_score: number | null;
  };
  notices: string[];
}

export interface Finding {
  id: string;
  severity: 'error' | 'warning' | 'info';
  summary: string;
  osds: number[];
  evidence: { signal: string; value: unknown; unit: string; window_s: number | null }[];
  remedy: string;
  commands: string[];
  do_not: string | null;
  source: string;
}

export interface Prediction {
  metric: string;
  signal: string;
  estimate_percent: number;
  low_percent: number;
  high_percent: number;
  basis: string;
}

export interface Recommendation {
  id: string;
  who: string;
  kind: string;
  profile: string | null;
  osds: number[];
  option: string;
  options_from: string;
  options_to: string;
  reasons: { statement: string; source: string }[];
  prediction: Prediction[] | null;
  risk: string;
  confidence: number | null;
  limit: Limit | null;
  restart_required: boolean;
  commands: string[];
  undo_commands: string[];
}

export interface RecommendationInFull extends Recommendation {
  difference: { option: string; from: string | null; to: string | null }[] | null;
}

/** How much more, or less, of a resource is used than by what runs; negative is less, and better. */
export interface ResourceEffect {
  resource: string;
  estimate_percent: number;
  low_percent: number;
  high_percent: number;
}

/** An option set that was weighed. */
export interface Candidate {
  name: string;
  origin: string;
  profile: string | null;
  options: string;
  chosen: boolean;
  /** Why it is out of the question; empty where it is not. */
  infeasible: string[];
  /** Of what runs, and of what is infeasible, none. */
  effects: ResourceEffect[];
  /** Why it is not chosen. */
  short: string | null;
}

/** All that was weighed for a group, and by what; resource null: nothing had to be weighed. */
export interface Decision {
  who: string;
  resource: string | null;
  conclusion: string;
  min_gain_percent: number;
  max_loss_percent: number;
  /** More use of these keeps nothing back: the OSDs may have plenty of them. */
  unconstrained: string[];
  candidates: Candidate[];
}

export interface SoakTime {
  least_s: number | null;
  most_s: number | null;
  inconclusive: string;
}

/** Of the canary: what the least time rests on, and what follows without a gain. */
export interface CanarySoak extends SoakTime {
  fill_s: number | null;
  no_benefit: string;
  batches: SoakTime | null;
}

/** The CRUSH bucket that OSDs are in together; type "osd": each is one by itself. */
export interface FailureDomain {
  type: string;
  name: string;
}

export interface Plan {
  batches: { osds: number[]; failure_domain: FailureDomain | null }[];
  canary: number | null;
  controls: number[];
  purpose: string;
  soak: CanarySoak;
  gates: string[];
  commands: string[];
  undo_commands: string[];
  expected_duration_s: number;
  expected_duration_most_s: number;
}

export interface KnownOption {
  option: string;
  meaning: string;
}

export interface Judgement {
  better: boolean;
  signals: SignalEffect[];
  missing: string[];
  cause: string | null;
}

export interface Rollout extends RolloutSummary {
  batches: {
    osds: number[];
    failure_domain: FailureDomain | null;
    phase: string;
    controls: number[];
    verdict: string | null;
    judged: string | null;
  }[];
  purpose: string;
  direction: string;
  paused_by: string | null;
  last_error: string | null;
  osds: { osd: number; step: string; from: string | null; to: string | null }[];
  soak: CanarySoak & {
    baseline_s: number | null;
    baseline_least_s: number | null;
    soaked_s: number | null;
    controls: number[];
    batch_soaked_s: number | null;
  };
  judgement: Judgement | null;
  batch_judgement: Judgement | null;
  campaign: Campaign | null;
}

export interface OsdCompaction {
  osd: number;
  host: string | null;
  step: string;
  used_before_bytes: number | null;
  used_after_bytes: number | null;
  /** The highest client write latency of the cluster while it compacted. */
  latency_ms: number | null;
  reason: string | null;
}

/** OSDs are compacted one after the other, so that old data get what a change gave new ones. */
export interface Campaign {
  id: string;
  recommendation: string;
  who: string;
  actor: string;
  phase: string;
  /** Of one host at once. */
  parallel: number;
  started: string | null;
  updated: string | null;
  paused_reason: string | null;
  /** What goes on that it waits for, and how long so far. */
  waits_for: string | null;
  outcome: string | null;
  failure: string | null;
  baseline_ms: number | null;
  /** Of the OSDs that are measured before and after. */
  used_before_bytes: number | null;
  used_after_bytes: number | null;
  osds: OsdCompaction[];
}

export interface Named {
  names: (string | null)[];
  index: number[];
}

/** By columns: every list has as many items as `osds`. */
export interface OsdMap {
  osds: number[];
  up: boolean[];
  hosts: Named;
  device_classes: Named;
  workloads: Named;
  profiles: Named;
  pending_restart: (boolean | null)[];
  kv_sync_ms: (number | null)[];
  kv_sync_busy: (number | null)[];
  db_used_ratio: (number | null)[];
  spilled: (boolean | null)[];
}

export interface Access {
  available: boolean;
  may_change: boolean;
}

/** What the dashboard answered instead; ``status`` 0: it did not answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const VERSION = 'application/vnd.ceph.api.v1.0+json';

export class Api {
  constructor(private readonly base: string) {}

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.ask<T>('GET', `api/rocksdb_tuner${path}`, undefined, signal);
  }

  change<T>(method: 'POST' | 'PUT', path: string, body: object = {}): Promise<T> {
    return this.ask<T>(method, `api/rocksdb_tuner${path}`, body);
  }

  /** What the user may do; nothing where the user may not even read. */
  async access(): Promise<Access> {
    try {
      return await this.ask<Access>('GET', 'ui-api/rocksdb_tuner/status');
    } catch {
      return { available: false, may_change: false };
    }
  }

  /** Let the module's status say that there is no place for the tab. */
  async cannotBePlaced(): Promise<void> {
    await this.ask('POST', 'ui-api/rocksdb_tuner/unplaced', {}).catch(() => undefined);
  }

  private async ask<T>(
    method: string,
    path: string,
    body?: object,
    signal?: AbortSignal,
  ): Promise<T> {
    let response: Response;
    try {
      response = await fetch(this.base + path, {
        method,
        headers: { Accept: VERSION, ...(body && { 'Content-Type': 'application/json' }) },
        credentials: 'same-origin',
        ...(body && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, 'unreachable', 'The dashboard does not answer.');
    }
    const text: { code?: string; detail?: string } | null = await response.json().catch(() => null);
    if (signal?.aborted) throw new DOMException('Not needed any more.', 'AbortError');
    if (!response.ok) {
      throw new ApiError(response.status, text?.code ?? '', text?.detail ?? response.statusText);
    }
    return text as T;
  }
}
