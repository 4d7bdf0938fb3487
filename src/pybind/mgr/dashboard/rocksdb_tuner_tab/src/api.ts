/** The answers of /api/rocksdb_tuner that the tab shows: the JSON of the command line. */

export interface Workload {
  class: string;
  confidence: number;
}

export interface Group {
  who: string;
  osds: number[];
  workload: Workload;
  options: { profile: string | null; source: string | null; pending_restart: number[] };
  conclusion: string | null;
}

export interface Status {
  time: string | null;
  mode: string;
  sampling: { interval_s: number | null; osds: number; last_sample_age_s: number | null };
  groups: Group[];
  findings: { error: number; warning: number; info: number };
  recommendations: number;
  rollout: { id: string; phase: string; osds_total: number; osds_finished: number } | null;
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

export interface Recommendation {
  id: string;
  who: string;
  kind: string;
  profile: string | null;
  osds: number[];
  reasons: { statement: string; source: string }[];
  risk: string;
  restart_required: boolean;
  commands: string[];
}

export interface Overview {
  status: Status;
  findings: Finding[];
  recommendations: Recommendation[];
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

async function get<T>(base: string, path: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(base + path, {
      headers: { Accept: VERSION },
      credentials: 'same-origin',
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The dashboard does not answer.');
  }
  if (!response.ok) {
    const body: { code?: string; detail?: string } = await response.json().catch(() => ({}));
    throw new ApiError(response.status, body.code ?? '', body.detail ?? response.statusText);
  }
  return (await response.json()) as T;
}

/** Whether the user may read and the module answers, in one request. */
export async function mayShow(base: string): Promise<boolean> {
  try {
    return (await get<{ available: boolean }>(base, 'ui-api/rocksdb_tuner/status')).available;
  } catch {
    return false;
  }
}

export async function overview(base: string, signal: AbortSignal): Promise<Overview> {
  const [status, findings, recommendations] = await Promise.all([
    get<Status>(base, 'api/rocksdb_tuner', signal),
    get<Finding[]>(base, 'api/rocksdb_tuner/findings', signal),
    get<Recommendation[]>(base, 'api/rocksdb_tuner/recommendation', signal),
  ]);
  return { status, findings, recommendations };
}
