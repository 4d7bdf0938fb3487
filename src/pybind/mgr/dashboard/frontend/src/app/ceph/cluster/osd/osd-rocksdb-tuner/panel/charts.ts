/** Charts of an OSD or a device class. */

import type { Growth, Trend } from './answers';
import { COLORS, Picture } from './chart';
import { bytes, duration, number, percent } from './format';

const COMPACT = new Intl.NumberFormat(undefined, {
  notation: 'compact',
  maximumFractionDigits: 1,
} as Intl.NumberFormatOptions);
const short = (value: number): string => (value < 1000 ? number(value) : COMPACT.format(value));
/** The value with its unit; no unit if the value is unknown. */
const unit =
  (text: string) =>
  (value: number | null): string =>
    value === null ? number(value) : `${short(value)}${text}`;
const ms = unit(' ms');
const rate = (value: number | null): string => bytes(value, '/s');

export function pictures(trend: Trend): Picture[] {
  const { time_s } = trend;
  const per = trend.osd === null ? 'Mean per OSD.' : '';
  const middle = trend.osd === null ? 'Median over OSDs.' : '';
  return [
    {
      title: 'kv_sync latency',
      note: middle,
      time_s,
      format: ms,
      lines: [
        { label: 'kv_sync', values: trend.kv_sync_ms, color: COLORS.blue },
        { label: 'commit', values: trend.commit_ms, color: COLORS.orange },
      ],
    },
    {
      title: 'kv_sync utilization',
      note: middle,
      time_s,
      format: percent,
      // Anything below is idle.
      least: 0.05,
      lines: [{ label: 'busy', values: trend.kv_sync_busy, color: COLORS.blue }],
    },
    {
      title: 'Written by RocksDB',
      note: per,
      time_s,
      format: rate,
      binary: true,
      lines: [
        { label: 'WAL', values: trend.wal_bytes_per_s, color: COLORS.blue },
        { label: 'SST', values: trend.sst_bytes_per_s, color: COLORS.green },
        { label: 'compaction', values: trend.compaction_bytes_per_s, color: COLORS.orange },
      ],
    },
    {
      title: 'Write amplification of the DB',
      note: middle,
      time_s,
      format: unit('×'),
      lines: [{ label: '(WAL + SST) / WAL', values: trend.db_write_amp, color: COLORS.green }],
    },
    {
      title: 'Client writes',
      note: per,
      time_s,
      format: unit('/s'),
      lines: [{ label: 'writes', values: trend.write_iops, color: COLORS.blue }],
    },
  ];
}

const OUTLOOK: Record<string, string> = {
  'not-enough-history': 'Not enough history for a forecast.',
  'not-growing': 'Not growing.',
  'beyond-horizon': 'Growing too slowly for a forecast.',
  spilled: 'Already spilled over to the slow device.',
};
const DAY_S = 86400;

/** Usage of a DB device, with its size and the forecast. */
export function growthPicture(growth: Growth): Picture {
  const { time_s, used_bytes, total_bytes, forecast } = growth;
  const title = `DB of osd.${growth.osd}`;
  const limit = { label: 'device size', color: COLORS.red, dashed: true };
  const used = { label: 'used', color: COLORS.blue };
  const now_s = time_s[time_s.length - 1];
  const now_bytes = used_bytes[used_bytes.length - 1];
  const still = { title, time_s, format: bytes, binary: true };
  if (total_bytes === null || now_s === undefined || now_bytes === undefined) {
    return { ...still, note: 'No dedicated DB device.', lines: [{ ...used, values: used_bytes }] };
  }
  const size = { ...limit, values: time_s.map(() => total_bytes) };
  const slope = forecast?.growth_bytes_per_day ?? null;
  if (forecast?.outlook !== 'filling' || forecast.full_in_s === null || slope === null) {
    const note = forecast ? (OUTLOOK[forecast.outlook] ?? '') : '';
    return { ...still, note, lines: [{ ...used, values: used_bytes }, size] };
  }
  // Until the device is full, but no further than the history allows.
  const first_s = time_s[0] ?? now_s;
  const ahead_s = Math.min(forecast.full_in_s, 3 * Math.max(now_s - first_s, DAY_S / 4));
  const times = [...time_s, now_s + ahead_s];
  const padded = (end: number | null): (number | null)[] => [
    ...time_s.map((_, i) => (i === time_s.length - 1 ? now_bytes : null)),
    end,
  ];
  const at = (perDay: number | null): number | null =>
    perDay === null ? null : Math.min(total_bytes, now_bytes + (perDay * ahead_s) / DAY_S);
  return {
    ...still,
    time_s: times,
    note: `Full in about ${duration(forecast.full_in_s)} (${duration(forecast.full_earliest_s)} to ${duration(forecast.full_latest_s)}).`,
    lines: [
      { ...used, values: [...used_bytes, null] },
      { label: 'forecast', color: COLORS.orange, dashed: true, values: padded(at(slope)) },
      {
        label: 'at most',
        color: COLORS.gray,
        faint: true,
        values: padded(at(forecast.growth_high_bytes_per_day)),
      },
      {
        label: 'at least',
        color: COLORS.gray,
        faint: true,
        values: padded(at(forecast.growth_low_bytes_per_day)),
      },
      { ...limit, values: times.map(() => total_bytes) },
    ],
  };
}

/** A signal of the canary and of its controls. */
export function canaryPicture(
  trends: readonly Trend[],
  canary: readonly number[],
  signal: 'kv_sync_ms' | 'commit_ms',
): Picture | null {
  const [first] = trends;
  if (!first) return null;
  const own = trends.filter((t) => t.osd !== null && canary.includes(t.osd));
  const others = trends.filter((t) => !own.includes(t));
  const middle = first.time_s.map((_, i) => median(others.map((t) => t[signal][i] ?? null)));
  return {
    title: signal === 'kv_sync_ms' ? 'kv_sync latency of the canary' : 'Commit latency of the canary',
    note: others.length ? 'Compared with OSDs that are not changed yet.' : '',
    time_s: first.time_s,
    format: ms,
    lines: [
      ...own.map((t) => ({ label: `osd.${t.osd}`, values: t[signal], color: COLORS.orange })),
      ...(others.length
        ? [{ label: 'median of the others', values: middle, color: COLORS.blue }]
        : []),
      ...others.map((t) => ({
        label: `osd.${t.osd}`,
        values: t[signal],
        color: COLORS.gray,
        faint: true,
      })),
    ],
  };
}

function median(values: (number | null)[]): number | null {
  const known = values.filter((v): v is number => v !== null).sort((a, b) => a - b);
  if (!known.length) return null;
  const half = Math.floor(known.length / 2);
  return known.length % 2
    ? (known[half] ?? null)
    : ((known[half - 1] ?? 0) + (known[half] ?? 0)) / 2;
}
