import { LitElement, html, nothing, TemplateResult } from 'lit';

import { decisions, findings, recommendations, AdviceHost, Reading } from './advice';
import { Api, ApiError } from './api';
import type {
  Assessment,
  Change,
  Finding,
  Growth,
  Group,
  Limit,
  OsdMap,
  Plan,
  Recommendation,
  RecommendationInFull,
  Status,
  Trend,
} from './answers';
import { candidates } from './candidates';
import type { Picture } from './chart';
import { canaryPicture, growthPicture, pictures } from './charts';
import type { Question, RocksDbTunerDialog } from './dialog';
import { duration, durations, ids, milliseconds, moment, percent, plural } from './format';
import { history } from './history';
import { COLORINGS, Coloring, named } from './map';
import { nameOf, operationSection, questionOf, underWay, Operation } from './operation';
import { facts, item, label, table } from './parts';

const REFRESH_MS = 10_000;
/** While an operation is in progress. */
const ROLLOUT_REFRESH_MS = 4_000;
const TREND_REFRESH_MS = 30_000;
/** Workloads and hardware seldom change, and an answer compares dozens of option strings. */
const CANDIDATES_REFRESH_MS = 60_000;
/** Data older than this is marked as stale. */
const STALE_MS = 60_000;
/** Samples older than this many intervals are marked as stale. */
const STALE_INTERVALS = 5;
const CONTROLS_MAX = 12;
const HISTORY_ENTRIES = 10;
/** Set when the session expires while the tab is open; read by `tab.ts`. */
export const RETURN_KEY = 'rocksdb-tuner-return';

const MODES: Record<string, string> = {
  off: 'no sampling, rollouts are paused',
  observe: 'measure and classify',
  recommend: 'also recommend changes, and apply them on request',
  'auto-apply': 'also apply stable low-risk recommendations automatically',
};

interface Overview {
  status: Status;
  findings: Finding[];
  recommendations: Recommendation[];
  osdMap: OsdMap;
  /** The current or last one. */
  operation: Operation | null;
  history: Change[];
}

/** The subject of the charts. */
type Subject = { osd: number } | { device_class: string };

/**
 * The panel of the tab. It has no shadow DOM, so that the dashboard's own classes style it for each
 * release (Bootstrap 4 or 5, and Carbon in Tentacle).
 */
export class RocksDbTunerPanel extends LitElement {
  static override properties = {
    mayChange: { attribute: false },
    data: { state: true },
    error: { state: true },
    now: { state: true },
    coloring: { state: true },
    subject: { state: true },
    trend: { state: true },
    growth: { state: true },
    chartError: { state: true },
    canary: { state: true },
    read: { state: true },
    considered: { state: true },
    considerError: { state: true },
    entries: { state: true },
  };

  /** The style sheet, unless the page has it already. */
  static sheet = '';

  base = '';
  declare mayChange: boolean;
  /** Answers of one moment, as in a report; null: those of the dashboard's REST API. */
  still: Api | null = null;
  private declare data: Overview | null;
  private declare error: ApiError | null;
  private declare now: number;
  private readAt = 0;
  private trendAt = 0;
  private consideredAt = 0;
  private timer: number | undefined;
  private abort: AbortController | null = null;
  private declare coloring: Coloring;
  private declare subject: Subject | null;
  private declare trend: Trend | null;
  private declare growth: Growth | null;
  private declare chartError: string;
  private declare canary: Picture[];
  private declare read: ReadonlyMap<string, Reading>;
  private declare considered: Assessment[];
  private declare considerError: string;
  private declare entries: number;
  private meanings: ReadonlyMap<string, string> = new Map();

  constructor() {
    super();
    this.mayChange = false;
    this.data = null;
    this.error = null;
    this.now = Date.now();
    this.coloring = 'workloads';
    this.subject = null;
    this.trend = null;
    this.growth = null;
    this.chartError = '';
    this.canary = [];
    this.read = new Map();
    this.considered = [];
    this.considerError = '';
    this.entries = HISTORY_ENTRIES;
  }

  private get api(): Api {
    return this.still ?? new Api(this.base);
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.refresh();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.clearTimeout(this.timer);
    this.abortReading();
  }

  private async refresh(): Promise<void> {
    window.clearTimeout(this.timer);
    this.now = Date.now();
    if ((this.still || !document.hidden) && !this.abort) await this.readAll();
    if (this.still || !this.isConnected) return;
    const pause = this.data && busyWith(this.data) ? ROLLOUT_REFRESH_MS : REFRESH_MS;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      void this.refresh();
    }, pause);
  }

  private async readAll(): Promise<void> {
    const { api } = this;
    const abort = (this.abort = new AbortController());
    try {
      const { signal } = abort;
      const [status, found, advice, osdMap, operation, changes] = await Promise.all([
        api.get<Status>('', signal),
        api.get<Finding[]>('/findings', signal),
        api.get<Recommendation[]>('/recommendation', signal),
        api.get<OsdMap>('/map', signal),
        api.get<Operation | null>('/operation', signal),
        api.get<Change[]>('/history', signal),
      ]);
      this.data = {
        status,
        findings: found,
        recommendations: advice,
        osdMap,
        operation,
        history: changes,
      };
      this.readAt = this.now = Date.now();
      this.error = null;
      this.subject = this.stillThere(this.subject) ?? firstClass(status.groups);
      // A module that has just started has no data yet.
      const due = this.now - this.trendAt >= TREND_REFRESH_MS;
      if (!this.trend || due || (operation?.kind === 'rollout' && underWay(operation))) await this.readCharts(signal);
      if (this.now - this.consideredAt >= CANDIDATES_REFRESH_MS) await this.readConsidered(signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.error = error;
      if (error.status === 401) sessionStorage.setItem(RETURN_KEY, '1');
    } finally {
      if (this.abort === abort) this.abort = null;
    }
  }

  private abortReading(): void {
    this.abort?.abort();
    this.abort = null;
  }

  private stillThere(subject: Subject | null): Subject | null {
    if (!subject || !this.data) return null;
    const known =
      'osd' in subject
        ? this.data.osdMap.osds.includes(subject.osd)
        : this.data.osdMap.device_classes.names.includes(subject.device_class);
    return known ? subject : null;
  }

  /** Read the data of the charts; an error affects the charts only. */
  private async readCharts(signal?: AbortSignal): Promise<void> {
    try {
      await this.readTrends(signal);
      this.chartError = '';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.chartError = error.message;
    }
  }

  /** Read the candidates; an error affects their section only. */
  private async readConsidered(signal: AbortSignal): Promise<void> {
    try {
      this.considered = await this.api.get<Assessment[]>('/candidates', signal);
      this.considerError = '';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.considerError = error.message;
    }
    this.consideredAt = Date.now();
  }

  private async readTrends(signal?: AbortSignal): Promise<void> {
    const { api, subject, data } = this;
    if (!subject || !data) return;
    this.trendAt = Date.now();
    const query =
      'osd' in subject
        ? `osds=${subject.osd}`
        : `device_class=${encodeURIComponent(subject.device_class)}`;
    const of = 'osd' in subject ? subject.osd : fullest(data.osdMap, subject.device_class);
    const [trends, growth, canary] = await Promise.all([
      api.get<Trend[]>(`/trend?${query}`, signal),
      of === null ? null : api.get<Growth>(`/osd/${of}/growth`, signal),
      this.readCanary(signal),
    ]);
    // The selection may have changed in the meantime.
    if (this.subject !== subject) return;
    this.trend = trends[0] ?? null;
    this.growth = growth;
    this.canary = canary;
  }

  private async readCanary(signal?: AbortSignal): Promise<Picture[]> {
    const rollout = this.data?.operation;
    if (rollout?.kind !== 'rollout') return [];
    const canary = rollout.batches[0]?.osds ?? [];
    if (!canary.length) return [];
    const rest = rollout.batches.slice(1).flatMap((batch) => batch.osds);
    const controls = (rollout.soak.controls.length ? rollout.soak.controls : rest).slice(
      0,
      CONTROLS_MAX,
    );
    const known = [...canary, ...controls].filter((osd) => this.data?.osdMap.osds.includes(osd));
    if (!known.length) return [];
    const trends = await this.api.get<Trend[]>(`/trend?osds=${known.join(',')}`, signal);
    const found = (['kv_sync_ms', 'commit_ms'] as const).map((name) =>
      canaryPicture(trends, canary, name),
    );
    return found.filter((picture): picture is Picture => picture !== null);
  }

  protected override render(): TemplateResult {
    const { data, error } = this;
    return html`
      ${RocksDbTunerPanel.sheet ? html`<style>${RocksDbTunerPanel.sheet}</style>` : nothing}
      ${error ? this.failure(error) : nothing}
      ${data
        ? html`${this.stale()} ${this.shown(data)}`
        : error
          ? nothing
          : html`<p class="rt-empty-state" role="status">Loading …</p>`}
      <rocksdb-tuner-dialog></rocksdb-tuner-dialog>
    `;
  }

  private shown(data: Overview): TemplateResult {
    const { status, operation } = data;
    const old = this.error !== null || this.now - this.readAt > STALE_MS;
    const host = this.adviceHost(data);
    const section = operation ? this.operation(operation, data) : nothing;
    const going = operation !== null && underWay(operation);
    return html`<div class=${old ? 'rt-old' : ''}>
      ${status.notices.map((n) => html`<div class="alert alert-warning" role="status">${n}</div>`)}
      ${decisions(status.decisions, data.recommendations, host)} ${this.figures(status)}
      ${going ? section : nothing}
      ${status.groups.length
        ? html`${findings(data.findings)}
          ${recommendations(data.recommendations, status.decisions, host)}
          ${this.groups(status.groups)} ${candidates(this.considered, this.considerError)}
          ${this.planner(data)} ${this.osdMap(data)} ${this.charts(data)}`
        : nothing}
      ${going ? nothing : section}
      ${history(data.history, status.track_record, this.still ? Infinity : this.entries, () => {
        this.entries = Infinity;
      })}
    </div>`;
  }

  private failure(error: ApiError): TemplateResult {
    if (error.status === 503 && error.code === 'module_disabled') {
      return html`<div class="rt-empty-state" role="alert">
        <p><strong>The RocksDB Tuner module is disabled.</strong></p>
        <p>To enable it: <code>ceph mgr module enable rocksdb_tuner</code></p>
      </div>`;
    }
    if (error.status === 403) {
      return html`<div class="rt-empty-state" role="alert">
        <p><strong>Permission denied.</strong></p>
        <p>Read permission for OSDs is required; ask your dashboard administrator.</p>
      </div>`;
    }
    const text =
      error.status === 401 ? 'Your session has expired. Log in again.' : error.message;
    return html`<div class="alert alert-warning rt-row" role="alert">
      <span>${text}</span>
      <button class="btn btn-light" @click=${() => {
  void this.refresh();
}}>Try again</button>
    </div>`;
  }

  private stale(): TemplateResult | typeof nothing {
    const { sampling } = this.data?.status ?? {};
    if (this.still) return nothing;
    if (this.now - this.readAt > STALE_MS) {
      return html`<div class="alert alert-warning" role="status">
        Stale data from ${new Date(this.readAt).toLocaleTimeString()}: the last refresh failed.
      </div>`;
    }
    if (!sampling || !isOld(sampling)) return nothing;
    return html`<div class="alert alert-warning" role="status">
      The newest sample is ${duration(sampling.last_sample_age_s)} old: OSDs are not reporting to the
      manager.
    </div>`;
  }

  private figures(status: Status): TemplateResult {
    const { findings: f, sampling } = status;
    const mode = this.mayChange
      ? html`<button class="btn btn-light" aria-label=${`Change mode: ${status.mode} …`} @click=${() => this.askMode(status.mode)}>
          ${status.mode} …
        </button>`
      : status.mode;
    return facts([
      ['Mode', mode],
      ['Sampled OSDs', sampling.osds.toLocaleString()],
      ['Sample interval', duration(sampling.interval_s)],
      ['Findings', `${plural(f.error, 'error')}, ${plural(f.warning, 'warning')}, ${f.info} info`],
      ...(this.still ? [] : [['Updated', moment(status.time)] as [string, unknown]]),
    ]);
  }

  private groups(groups: Group[]): TemplateResult {
    return html`<h3>Device classes</h3>
      ${table(
        'Device classes',
        ['Device class', 'OSDs', 'Workload', 'Limited by', 'Options'],
        groups.map(({ who: mask, osds, workload, limit, options }) => {
          const profile = options.profile ?? plural(options.variants.length, 'option string');
          const pending = options.pending_restart.length;
          return [
            mask.replace('osd/class:', ''),
            osds.length,
            `${workload.class}${confidence(workload.confidence)}`,
            {
              shown: html`<span title=${limit.evidence.map((e) => e.statement).join(' ')}>${limitOf(limit)}</span>`,
              by: limit.resource,
            },
            {
              shown: html`${profile} ${pending ? label(`restart pending on ${pending}`, 'warning') : nothing}`,
              by: profile,
            },
          ];
        }),
      )}`;
  }

  private osdMap({ osdMap }: Overview): TemplateResult {
    const chosen = this.subject && 'osd' in this.subject ? this.subject.osd : null;
    return html`<h3>OSDs</h3>
      <div class="rt-row">
        <label>
          Color by
          <select
            class="form-control form-select custom-select"
            @change=${(event: Event) => {
              this.coloring = (event.currentTarget as HTMLSelectElement).value as Coloring;
            }}
          >
            ${Object.entries(COLORINGS).map(
              ([value, text]) =>
                html`<option value=${value} ?selected=${value === this.coloring}>${text}</option>`,
            )}
          </select>
        </label>
        <span class="rt-note">
          ${this.still ? '' : 'Select an OSD to see its charts.'}${osdMap.spilled.some(Boolean)
            ? ' Red frame: DB spilled over to the slow device.'
            : ''}
        </span>
      </div>
      <rocksdb-tuner-map
        .osdMap=${osdMap}
        .coloring=${this.coloring}
        .selected=${chosen}
        @choose=${(event: CustomEvent<number>) => this.choose({ osd: event.detail })}
      ></rocksdb-tuner-map>
      ${item('OSDs as a table', plural(osdMap.osds.length, 'OSD'), this.osds(osdMap))}`;
  }

  private osds(osdMap: OsdMap): TemplateResult {
    return table(
      'OSDs',
      ['OSD', 'Host', 'Device class', 'Workload', 'kv_sync', 'kv_sync busy', 'DB usage', 'Profile', 'Restart'],
      osdMap.osds.map((osd, at) => {
        const [ms = null, busy = null, used = null] = [
          osdMap.kv_sync_ms[at], osdMap.kv_sync_busy[at], osdMap.db_used_ratio[at],
        ];
        const name = `osd.${osd}`;
        return [
          {
            shown: this.still
              ? name
              : html`<button class="rt-sort" title="Charts" @click=${() => this.choose({ osd })}>${name}</button>`,
            by: name,
          },
          named(osdMap.hosts, at),
          named(osdMap.device_classes, at),
          osdMap.up[at] ? named(osdMap.workloads, at) : 'down',
          { shown: milliseconds(ms), by: ms },
          { shown: percent(busy), by: busy },
          { shown: `${percent(used)}${osdMap.spilled[at] ? ', spilled' : ''}`, by: used },
          named(osdMap.profiles, at) ?? 'custom',
          osdMap.pending_restart[at] ? 'pending' : null,
        ];
      }),
    );
  }

  private charts({ osdMap }: Overview): TemplateResult {
    const { subject, trend, growth } = this;
    if (this.still) {
      return growth?.time_s.length
        ? html`<h3>DB device</h3>
            <div class="rt-charts">
              <rocksdb-tuner-chart .picture=${growthPicture(growth)}></rocksdb-tuner-chart>
            </div>`
        : html``;
    }
    const names = osdMap.device_classes.names.filter((n): n is string => n !== null);
    const osd = subject && 'osd' in subject ? subject.osd : null;
    return html`<h3>Over time</h3>
      <div class="rt-row">
        <label>
          Device class
          <select
            class="form-control form-select custom-select"
            .value=${subject && 'device_class' in subject ? subject.device_class : ''}
            @change=${(event: Event) => {
              const { value } = event.currentTarget as HTMLSelectElement;
              if (value) this.choose({ device_class: value });
            }}
          >
            ${osd === null ? nothing : html`<option value="" selected>–</option>`}
            ${names.map(
              (name) =>
                html`<option
                  value=${name}
                  ?selected=${subject && 'device_class' in subject && subject.device_class === name}
                >
                  ${name}
                </option>`,
            )}
          </select>
        </label>
        <label>
          or OSD
          <input
            class="form-control"
            type="number"
            min="0"
            .value=${osd === null ? '' : `${osd}`}
            @change=${(event: Event) => {
              const number = (event.currentTarget as HTMLInputElement).valueAsNumber;
              if (osdMap.osds.includes(number)) this.choose({ osd: number });
            }}
          />
        </label>
      </div>
      ${this.chartError
        ? html`<div class="alert alert-warning" role="status">
            Cannot read the charts: ${this.chartError}
          </div>`
        : nothing}
      ${trend
        ? html`<div class="rt-charts">
            ${[...pictures(trend), ...(growth?.time_s.length ? [growthPicture(growth)] : [])].map(
              (picture) => html`<rocksdb-tuner-chart .picture=${picture}></rocksdb-tuner-chart>`,
            )}
          </div>`
        : html`<p class="rt-empty">No history yet.</p>`}`;
  }

  private operation(operation: Operation, data: Overview): TemplateResult {
    return operationSection(operation, {
      mayChange: this.mayChange,
      busy: busyWith(data) !== null,
      recommendations: data.recommendations,
      control: (what) => this.ask(questionOf(what, operation, this.api)),
      apply: (r) => void this.askApply(r),
      chart: this.canary.length
        ? html`<div class="rt-charts">
            ${this.canary.map(
              (picture) => html`<rocksdb-tuner-chart .picture=${picture}></rocksdb-tuner-chart>`,
            )}
          </div>`
        : nothing,
    });
  }

  private planner(data: Overview): TemplateResult | typeof nothing {
    if (this.still) return nothing;
    return html`<h3>Experiments</h3>
      <rocksdb-tuner-planner
        .base=${this.base}
        .groups=${data.status.groups.map((g) => g.who)}
        .mayChange=${this.mayChange}
        .busy=${busyWith(data)}
        @ask=${(event: CustomEvent<Question>) => this.ask(event.detail)}
      ></rocksdb-tuner-planner>`;
  }

  private choose(subject: Subject): void {
    this.subject = subject;
    void this.readCharts();
  }

  private adviceHost(data: Overview): AdviceHost {
    return {
      mayChange: this.mayChange,
      busy: busyWith(data),
      plans: this.still === null,
      read: this.read,
      meanings: this.meanings,
      open: (id) => void this.readDetails(id, 'full'),
      showPlan: (id) => void this.readDetails(id, 'plan'),
      apply: (r) => void this.askApply(r),
    };
  }

  /** Read the details of a recommendation once. */
  private async readDetails(id: string, what: 'full' | 'plan'): Promise<Reading | null> {
    const before = this.read.get(id) ?? { full: null, plan: null };
    if (before[what]) return before;
    const path = `/recommendation/${encodeURIComponent(id)}`;
    try {
      if (!this.meanings.size) {
        const options = await this.api.get<{ option: string; meaning: string }[]>('/option');
        this.meanings = new Map(options.map((o) => [o.option, o.meaning]));
      }
      const found =
        what === 'full'
          ? { full: await this.api.get<RecommendationInFull>(path) }
          : { plan: await this.api.get<Plan>(`${path}/plan`) };
      const reading = { ...before, ...this.read.get(id), ...found };
      this.read = new Map([...this.read, [id, reading]]);
      return reading;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error = error;
      return null;
    }
  }

  private ask(question: Question): void {
    void this.querySelector<RocksDbTunerDialog>('rocksdb-tuner-dialog')?.ask({
      ...question,
      run: async () => {
        await question.run();
        // A refresh in progress may return outdated data.
        this.abortReading();
        void this.refresh();
      },
    });
  }

  private async askApply(r: Recommendation): Promise<void> {
    const compact = r.kind === 'compact';
    const planned = compact ? null : (await this.readDetails(r.id, 'plan'))?.plan;
    const canary = planned?.batches[0]?.osds ?? [];
    const watched = planned?.soak.most_s
      ? ` It soaks for ${durations(planned.soak.least_s, planned.soak.most_s)} before any other OSD is changed.`
      : '';
    this.ask({
      title: r.decision.do,
      lines: [
        `Gain: ${r.decision.gain ?? 'not predicted'}. Loss: ${r.decision.loss ?? 'unknown'}.`,
        ...(compact
          ? [
              `Compacts ${plural(r.osds.length, 'OSD')} (${ids(r.osds)}): ${ids(r.osds.slice(0, 1))} first, then host by host. No OSD is restarted, and no option is changed.`,
              'An OSD is slower while it compacts. The next one does not start while client write latency is elevated or the cluster is not healthy.',
              'A compaction can be neither rolled back nor stopped: pause and abort only prevent the next one.',
            ]
          : [
              `Changes ${r.option} of ${plural(r.osds.length, 'OSD')} (${ids(r.osds)}).`,
              r.restart_required
                ? `Each OSD is restarted${canary.length ? `, starting with the canary ${ids(canary)}` : ''}. The next one is changed only after it is up with the new value.${watched}`
                : 'No OSD is restarted: they run these options already, and only the configuration changes.',
              `Expected duration without waiting: ${durations(planned?.expected_duration_s, planned?.expected_duration_most_s)}.`,
              'You can pause or abort the rollout, or roll it back to exactly the current configuration.',
            ]),
      ],
      command: `ceph rocksdb-tuner apply ${r.id}`,
      action: compact ? 'Compact' : 'Apply',
      run: async () =>
        void (await this.api.change('POST', `/recommendation/${encodeURIComponent(r.id)}/apply`)),
    });
  }

  private askMode(current: string): void {
    let wanted = current;
    const choose = (event: Event): void => {
      wanted = (event.currentTarget as HTMLSelectElement).value;
    };
    this.ask({
      title: 'Change the mode',
      lines: Object.entries(MODES).map(([name, meaning]) => `${name}: ${meaning}`),
      choice: html`<label>
        Mode
        <select class="form-control form-select custom-select" @change=${choose}>
          ${Object.keys(MODES).map(
            (name) => html`<option value=${name} ?selected=${name === current}>${name}</option>`,
          )}
        </select>
      </label>`,
      action: 'Change',
      run: async () => void (await this.api.change('PUT', '/mode', { mode: wanted })),
    });
  }
}

/** The operation in progress, which blocks all others. */
function busyWith({ operation }: Overview): string | null {
  return operation && underWay(operation) ? nameOf(operation) : null;
}

function isOld({ last_sample_age_s, interval_s }: Status['sampling']): boolean {
  return (last_sample_age_s ?? 0) > STALE_INTERVALS * Math.max(10, interval_s ?? 0);
}

function confidence(value: number): string {
  return value > 0 ? ` (${Math.round(value * 100)}% confidence)` : '';
}

function limitOf(found: Limit): string {
  if (found.resource === 'unknown') return '–';
  const name = found.resource === 'none' ? 'none of the measured resources' : found.resource;
  return `${name}${confidence(found.confidence)}`;
}

function firstClass(groups: Group[]): Subject | null {
  const largest = [...groups].sort((a, b) => b.osds.length - a.osds.length)[0];
  return largest ? { device_class: largest.who.replace('osd/class:', '') } : null;
}

/** The OSD with the fullest DB device of a class; null if none has one. */
function fullest(osdMap: OsdMap, deviceClass: string): number | null {
  const { names, index } = osdMap.device_classes;
  let found: number | null = null;
  let most = -1;
  osdMap.osds.forEach((osd, at) => {
    const used = osdMap.db_used_ratio[at];
    if (names[index[at] ?? 0] !== deviceClass || used === null || used === undefined) return;
    if (used > most) [found, most] = [osd, used];
  });
  return found;
}
