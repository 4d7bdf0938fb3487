/** Numbers with units, and times in the browser's time zone. */

const UNKNOWN = '–';
const IEC = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

export function number(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  const size = Math.abs(value);
  return size >= 100 || Number.isInteger(value)
    ? Math.round(value).toLocaleString()
    : value.toPrecision(digits + (size >= 10 ? 1 : 0));
}

export function bytes(value: number | null | undefined, per = ''): string {
  if (value === null || value === undefined) return UNKNOWN;
  let scaled = value;
  let at = 0;
  while (Math.abs(scaled) >= 1023.5 && at < IEC.length - 1) {
    scaled /= 1024;
    at += 1;
  }
  return `${number(scaled)} ${IEC[at]}B${per}`;
}

export function percent(ratio: number | null | undefined): string {
  return ratio === null || ratio === undefined ? UNKNOWN : `${number(Math.round(ratio * 1000) / 10)}%`;
}

export function milliseconds(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : `${number(value)} ms`;
}

export function signedPercent(value: number | null): string {
  if (value === null) return UNKNOWN;
  const rounded = Math.round(value);
  return `${rounded > 0 ? '+' : ''}${rounded}%`;
}

/** An estimate with its 80% interval: "+18% (+12 to +24%)". */
export function spanned(
  span: { estimate: number; low: number; high: number } | null,
): string {
  if (span === null) return UNKNOWN;
  const { estimate, low, high } = span;
  return `${signedPercent(estimate)} (${range(low, high)})`;
}

const RESOURCES: Record<string, string> = {
  'kv-sync': 'the kv_sync thread',
  cores: 'CPU',
  'db-device': 'writes to the DB device',
  'db-space': 'DB space',
  'wal-space': 'WAL space',
  memory: 'memory',
};

/** The name of a limiting resource, for use in a sentence. */
export function resourceName(resource: string): string {
  return RESOURCES[resource] ?? resource;
}

/** The judged signals that an experiment can improve. */
export const SIGNALS: Record<string, string> = {
  op_w_latency_ms: 'client write latency',
  kv_sync_ms_per_txn: 'kv_sync time per write',
  db_bytes_per_txn: 'DB bytes written per write',
  db_used_bytes: 'space used by the DB',
};

export function signalName(signal: string): string {
  return SIGNALS[signal] ?? signal;
}

/** "-12 to +4%" */
export function range(low: number, high: number): string {
  return `${signedPercent(low).replace('%', '')} to ${signedPercent(high)}`;
}

/** A measured change with its interval, or the interval alone. */
export function bounded(
  change: { estimate_percent: number | null; low_percent: number | null; high_percent: number | null },
  alone = false,
): string {
  const { estimate_percent: estimate, low_percent: low, high_percent: high } = change;
  const interval = low === null || high === null ? 'unbounded' : range(low, high);
  if (alone) return interval;
  return estimate === null ? UNKNOWN : `${signedPercent(estimate)} (${interval})`;
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 120) return `${Math.round(seconds)}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  if (seconds < 172800) return `${Math.round(seconds / 360) / 10}h`;
  return `${Math.round(seconds / 86400)}d`;
}

/** A range of durations. */
export function durations(least_s: number | null | undefined, most_s: number | null | undefined): string {
  const [least, most] = [duration(least_s), duration(most_s)];
  return least === most ? least : `${least} to ${most}`;
}

/** An ISO 8601 timestamp in the browser's time zone. */
export function moment(iso: string | null): string {
  return iso === null ? UNKNOWN : new Date(iso).toLocaleString();
}

export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? noun : nouns}`;
}

/** The device class of "osd/class:ssd"; any other mask unchanged. */
export function who(mask: string): string {
  return mask.startsWith('osd/class:') ? `device class ${mask.slice(10)}` : mask;
}

/** Ids as ranges, shortened: "0–3, 7 and 12 more". */
export function ids(osds: readonly number[], limit = 12): string {
  const ranges: [number, number][] = [];
  for (const id of [...osds].sort((a, b) => a - b)) {
    const last = ranges[ranges.length - 1];
    if (last && last[1] === id - 1) last[1] = id;
    else ranges.push([id, id]);
  }
  const shown = ranges.slice(0, limit);
  const rest = ranges.slice(limit).reduce((sum, [a, b]) => sum + b - a + 1, 0);
  const text = shown.map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`));
  return `osd ${text.join(', ')}${rest ? ` and ${rest} more` : ''}`;
}

/** The value of a piece of evidence with its unit. */
export function evidence(value: unknown, unit: string): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (typeof value === 'number') {
    if (unit === 'bytes') return bytes(value);
    if (unit === 'bytes/s') return bytes(value, '/s');
    if (unit === 's') return duration(value);
    return `${number(value)} ${unit}`.trim();
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `${text} ${unit}`.trim();
}
