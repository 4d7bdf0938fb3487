import { html, nothing, PropertyValues, TemplateResult } from 'lit';

import type { Named, OsdMap } from './answers';
import { number, percent } from './format';
import { SizedElement } from './sized';

export type Coloring = 'workloads' | 'kv_sync_busy' | 'db_used_ratio' | 'profiles';

export const COLORINGS: Record<Coloring, string> = {
  workloads: 'Workload',
  kv_sync_busy: 'kv_sync utilization',
  db_used_ratio: 'DB usage',
  profiles: 'Profile',
};

/** The Okabe-Ito palette, which is safe for color-blind users. */
const WORKLOADS: Record<string, string> = {
  idle: '#c8c8c8',
  'rbd-small-write': '#0072b2',
  'rgw-metadata': '#e69f00',
  'large-write': '#009e73',
  'read-mostly': '#56b4e9',
  'cephfs-metadata': '#cc79a7',
  recovery: '#d55e00',
  mixed: '#f0e442',
};
const PROFILES = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#8c564b'];
const STEPS = ['#dbe9f4', '#9ecae1', '#4f9bcb', '#2166ac', '#08306b'];
const UNKNOWN = '#ffffff';
const DOWN = '#4a4a4a';

interface Place {
  at: number;
  x: number;
  y: number;
}

interface Entry {
  label: string;
  color: string;
  count: number;
}

/** A map of all OSDs as squares, by device class and host. */
export class RocksDbTunerMap extends SizedElement {
  static override properties = {
    osdMap: { attribute: false },
    coloring: { attribute: false },
    selected: { attribute: false },
    hovered: { state: true },
  };

  declare osdMap: OsdMap | null;
  declare coloring: Coloring;
  declare selected: number | null;
  private declare hovered: Place | null;
  private cell = 16;
  private columns = 1;
  private places: Place[] = [];

  constructor() {
    super();
    this.osdMap = null;
    this.coloring = 'workloads';
    this.selected = null;
    this.hovered = null;
  }

  protected override resized(): void {
    this.draw();
  }

  protected override render(): TemplateResult | typeof nothing {
    const { osdMap, hovered } = this;
    if (!osdMap) return nothing;
    const legend = this.legend(osdMap);
    const counts = legend.map((e) => `${e.count} ${e.label}`).join(', ');
    return html`
      <div class="rt-map">
        <canvas
          role="img"
          aria-label=${`${osdMap.osds.length} OSDs by ${COLORINGS[this.coloring]}: ${counts}. The table below lists them.`}
          @mousemove=${(event: MouseEvent) => {
            this.hovered = this.under(event);
          }}
          @mouseleave=${() => {
            this.hovered = null;
          }}
          @click=${(event: MouseEvent) => this.choose(this.under(event)?.at)}
        ></canvas>
        ${hovered
          ? html`<div
              class="rt-tooltip"
              style="left:${hovered.x + this.cell}px;top:${hovered.y + this.cell}px"
            >
              ${this.describe(osdMap, hovered.at)}
            </div>`
          : nothing}
      </div>
      <ul class="rt-legend">
        ${legend.map(
          (e) => html`<li>
            <span class="rt-swatch" style="background:${e.color}"></span>${e.label}
            <span class="rt-count">${e.count.toLocaleString()}</span>
          </li>`,
        )}
      </ul>
    `;
  }

  protected override updated(_: PropertyValues): void {
    this.draw();
  }

  private draw(): void {
    const { osdMap } = this;
    const canvas = this.querySelector('canvas');
    const context = canvas?.getContext('2d');
    const width = Math.floor(this.clientWidth);
    if (!osdMap || !canvas || !context || width <= 0) return;
    const count = osdMap.osds.length;
    const fitting = Math.floor(Math.sqrt((width * 420) / Math.max(1, count)));
    this.cell = Math.max(5, Math.min(26, fitting));
    this.columns = Math.max(1, Math.floor(width / this.cell));
    const height = this.arrange(osdMap);
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.drawLabels(context, osdMap);
    const size = this.cell - (this.cell > 8 ? 2 : 1);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (const { at, x, y } of this.places) {
      const color = this.color(osdMap, at);
      context.fillStyle = color;
      context.fillRect(x, y, size, size);
      if (color === UNKNOWN) {
        context.strokeStyle = '#8c8c8c';
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      }
      if (osdMap.spilled[at]) {
        context.strokeStyle = '#c9190b';
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, size - 2, size - 2);
      }
      if (this.cell >= 22 && count <= NUMBERED_MAX) {
        context.fillStyle = readable(color);
        context.font = '10px sans-serif';
        context.fillText(`${osdMap.osds[at]}`, x + size / 2, y + size / 2 + 0.5);
      }
      if (osdMap.osds[at] === this.selected) {
        context.strokeStyle = '#000000';
        context.lineWidth = 2;
        context.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1);
      }
    }
  }

  /** Assign a position to every OSD; returns the total height. */
  private arrange(osdMap: OsdMap): number {
    const { device_classes: classes, hosts } = osdMap;
    const [classRank, hostRank] = [ranks(classes.names), ranks(hosts.names)];
    const rank = (at: number): [number, number, number] => [
      classRank[classes.index[at] ?? 0] ?? 0,
      hostRank[hosts.index[at] ?? 0] ?? 0,
      osdMap.osds[at] ?? 0,
    ];
    const order = osdMap.osds.map((_, at): [number, [number, number, number]] => [at, rank(at)]);
    order.sort(([, a], [, b]) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    this.places = [];
    let y = 0;
    let column = 0;
    let current: number | undefined;
    for (const [at] of order) {
      const group = classes.index[at];
      if (group !== current) {
        y += (current === undefined ? 0 : this.cell + 6) + LABEL;
        column = 0;
        current = group;
      } else if (column === this.columns) {
        y += this.cell;
        column = 0;
      }
      this.places.push({ at, x: column * this.cell + 1, y });
      column += 1;
    }
    return y + this.cell + 2;
  }

  private drawLabels(context: CanvasRenderingContext2D, osdMap: OsdMap): void {
    context.fillStyle = '#525252';
    context.font = '12px sans-serif';
    context.textAlign = 'left';
    context.textBaseline = 'alphabetic';
    let current: number | undefined;
    for (const { at, y } of this.places) {
      const group = osdMap.device_classes.index[at];
      if (group === current) continue;
      current = group;
      context.fillText(osdMap.device_classes.names[group ?? 0] ?? 'no device class', 1, y - 5);
    }
  }

  private color(osdMap: OsdMap, at: number): string {
    if (!osdMap.up[at]) return DOWN;
    switch (this.coloring) {
      case 'workloads':
        return WORKLOADS[named(osdMap.workloads, at) ?? ''] ?? UNKNOWN;
      case 'profiles': {
        const { names, index } = osdMap.profiles;
        return profileColor(names, index[at] ?? 0);
      }
      default: {
        const value = osdMap[this.coloring][at];
        return value === null || value === undefined ? UNKNOWN : (STEPS[step(value)] ?? UNKNOWN);
      }
    }
  }

  private legend(osdMap: OsdMap): Entry[] {
    const found = new Map<string, Entry>();
    const entry = (label: string, color: string): Entry => {
      const made = found.get(label) ?? { label, color, count: 0 };
      found.set(label, made);
      return made;
    };
    if (this.coloring === 'kv_sync_busy' || this.coloring === 'db_used_ratio') {
      STEPS.forEach((color, i) => entry(`${i * 20}–${(i + 1) * 20}%`, color));
    }
    osdMap.osds.forEach((_, at) => {
      const color = this.color(osdMap, at);
      entry(this.label(osdMap, at), color).count += 1;
    });
    return [...found.values()];
  }

  private label(osdMap: OsdMap, at: number): string {
    if (!osdMap.up[at]) return 'down';
    if (this.coloring === 'workloads') return named(osdMap.workloads, at) ?? 'unknown';
    if (this.coloring === 'profiles') return named(osdMap.profiles, at) ?? 'custom';
    const value = osdMap[this.coloring][at];
    if (value === null || value === undefined) {
      return this.coloring === 'db_used_ratio' ? 'no dedicated DB device' : 'unknown';
    }
    const i = step(value);
    return `${i * 20}–${(i + 1) * 20}%`;
  }

  private describe(osdMap: OsdMap, at: number): string {
    const parts = [
      `osd.${osdMap.osds[at]}`,
      named(osdMap.hosts, at) ?? 'unknown host',
      osdMap.up[at] ? named(osdMap.workloads, at) : 'down',
      `kv_sync ${number(osdMap.kv_sync_ms[at])} ms, ${percent(osdMap.kv_sync_busy[at])} busy`,
      `DB ${percent(osdMap.db_used_ratio[at])}${osdMap.spilled[at] ? ', spilled' : ''}`,
      named(osdMap.profiles, at) ?? 'custom options',
    ];
    if (osdMap.pending_restart[at]) parts.push('restart pending');
    return parts.join(' · ');
  }

  private under(event: MouseEvent): Place | null {
    const { offsetX, offsetY } = event;
    return (
      this.places.find(
        ({ x, y }) =>
          offsetX >= x && offsetX < x + this.cell && offsetY >= y && offsetY < y + this.cell,
      ) ?? null
    );
  }

  private choose(at: number | undefined): void {
    const osd = at === undefined ? undefined : this.osdMap?.osds[at];
    if (osd === undefined) return;
    this.dispatchEvent(new CustomEvent<number>('choose', { detail: osd }));
  }
}

const LABEL = 18;
/** With more OSDs the numbers are unreadable. */
const NUMBERED_MAX = 400;
const names = new Intl.Collator(undefined, { numeric: true });

/** The rank of each name in natural order: "node10" comes after "node2". */
function ranks(found: (string | null)[]): number[] {
  const order = found.map((_, i) => i);
  order.sort((a, b) => names.compare(found[a] ?? '', found[b] ?? ''));
  const places: number[] = [];
  order.forEach((i, place) => (places[i] = place));
  return places;
}

export function named(column: Named, at: number): string | null {
  return column.names[column.index[at] ?? 0] ?? null;
}

function step(ratio: number): number {
  return Math.max(0, Math.min(STEPS.length - 1, Math.floor(ratio * STEPS.length)));
}

/** Colors are assigned in the order of names, so that a profile keeps its color. */
function profileColor(names: (string | null)[], index: number): string {
  const name = names[index];
  if (name === null || name === undefined) return UNKNOWN;
  const known = names.filter((n) => n !== null).sort();
  return PROFILES[known.indexOf(name) % PROFILES.length] ?? UNKNOWN;
}

function readable(color: string): string {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * (r ?? 0) + 0.587 * (g ?? 0) + 0.114 * (b ?? 0) > 140 ? '#151515' : '#ffffff';
}
