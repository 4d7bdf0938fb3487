/**
 * Numbers with units, and times in the browser's time zone. Sizes, changes and durations are those of
 * the module's units.py, so that the tab and the commands show the same text.
 */

const UNKNOWN = '–';
const IEC = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

export function number(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  const size = Math.abs(value);
  return size >= 100 || Number.isInteger(value)
    ? Math.round(value).toLocaleString()
    : value.toPrecision(digits + (size >= 10 ? 1 : 0));
}

/** Bytes as Ceph prints them: "512 B", "1.2 MiB", "11 GiB". */
export function bytes(value: number | null | undefined, per = ''): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  let scaled = value;
  let at = 0;
  while (Math.abs(scaled) >= 1023.5 && at < IEC.length - 1) {
    scaled /= 1024;
    at += 1;
  }
  return `${twoDigits(scaled)} ${IEC[at]}B${per}`;
}

/** Two significant digits of a small number, the integer part of a large one. */
function twoDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= 9.95 || Number.isInteger(value)) return value.toFixed(0);
  if (size >= 0.95) return value.toFixed(1);
  return size >= 0.001 ? `${Number(value.toPrecision(2))}` : '<0.001';
}

export function percent(ratio: number | null | undefined): string {
  return ratio === null || ratio === undefined ? UNKNOWN : `${number(Math.round(ratio * 1000) / 10)}%`;
}

export function milliseconds(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : `${number(value)} ms`;
}

/** A change in percent: "+31%", "0%". */
export function signedPercent(value: number | null): string {
  if (value === null) return UNKNOWN;
  const rounded = Math.round(value);
  return `${rounded > 0 ? '+' : ''}${rounded}%`;
}

/** The range of a change in percent: "-12 to +4%", "-10%". */
export function range(low_percent: number | null, high_percent: number | null): string {
  if (low_percent === null || high_percent === null) return 'unbounded';
  const [low, high] = [signedPercent(low_percent), signedPercent(high_percent)];
  return low === high ? low : `${low.replace('%', '')} to ${high}`;
}

/** A change with its interval: "-13% (-18 to -6%)", "-13% (unbounded)". */
export function effect(percent: number | null, low: number | null, high: number | null): string {
  return percent === null ? UNKNOWN : `${signedPercent(percent)} (${range(low, high)})`;
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

/** An age or an interval in its two largest units: "8s", "5m", "2h 5m", "4d 3h". */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  // Clock skew: a time in the near future counts as now.
  if (seconds < 0) return '0s';
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))}s`;
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours}h ${minutes % 60}m` : `${hours}h`;
  const days = Math.floor(hours / 24);
  return hours % 24 && days < 14 ? `${days}d ${hours % 24}h` : `${days}d`;
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
  return typeof value === 'string' ? value : JSON.stringify(value);
}
