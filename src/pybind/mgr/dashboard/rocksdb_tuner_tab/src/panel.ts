import { LitElement, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';

import { findings, recommendations } from './advice';
import type { AdviceHost, Reading } from './advice';
import { Api, ApiError } from './api';
import type {
  Campaign,
  Change,
  Decision,
  Finding,
  Growth,
  Group,
  KnownOption,
  Limit,
  OsdMap,
  Plan,
  Recommendation,
  RecommendationInFull,
  Rollout,
  Status,
  Trend,
} from './answers';
import { decisions } from './candidates';
import type { Picture } from './chart';
import { campaignSection, finished, inFlight } from './campaign';
import type { CampaignControl } from './campaign';
import { canaryPicture, growthPicture, pictures } from './charts';
import type { Question, RocksDbTunerDialog } from './dialog';
import { duration, durations, ids, moment, plural, who } from './format';
import { COLOURINGS } from './map';
import type { Coloring } from './map';
import { facts, label, TABLE } from './parts';
import { history, rolloutSection, underWay } from './rollout';
import type { Control } from './rollout';

const REFRESH_MS = 10_000;
/** While something moves. */
const ROLLOUT_REFRESH_MS = 4_000;
const TREND_REFRESH_MS = 30_000;
/** Workloads and hardware seldom change, and dozens of option sets are weighed for an answer. */
const DECISION_REFRESH_MS = 60_000;
/** Older than this, what is shown is said to be old. */
const STALE_MS = 60_000;
/** Samples older than this many intervals are said to be old. */
const STALE_INTERVALS = 5;
const CONTROLS_MAX = 12;
/** Set when the login was lost while the tab was open; read by `tab.ts`. */
export const RETURN_KEY = 'rocksdb-tuner-return';

const MODES: Record<string, string> = {
  off: 'nothing is read, and rollouts are paused',
  observe: 'measure and classify',
  recommend: 'also advise, and apply what an operator asks for',
  'auto-apply': 'also apply recommendations of low risk that have stood long enough',
};

interface Overview {
  status: Status;
  findings: Finding[];
  recommendations: Recommendation[];
  osdMap: OsdMap;
  rollout: Rollout | null;
  history: Change[];
}

/** What charts are about. */
type Subject = { osd: number } | { device_class: string };

/**
 * The panel below the tab. Without shadow DOM: the dashboard's own classes then give it the look of
 * each release (Bootstrap 4 or 5, and Carbon's in Tentacle).
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
    decisions: { state: true },
    decisionError: { state: true },
  };

  /** Rules of style, where the page does not have them already. */
  static sheet = '';

  base = '';
  mayChange = false;
  private data: Overview | null = null;
  private error: ApiError | null = null;
  private now = Date.now();
  private readAt = 0;
  private trendAt = 0;
  private decisionsAt = 0;
  private timer: number | undefined;
  private abort: AbortController | null = null;
  private coloring: Coloring = 'workloads';
  private subject: Subject | null = null;
  private trend: Trend | null = null;
  private growth: Growth | null = null;
  private chartError = '';
  private canary: Picture[] = [];
  private read: ReadonlyMap<string, Reading> = new Map();
  private decisions: Decision[] = [];
  private decisionError = '';
  private meanings: ReadonlyMap<string, string> = new Map();

  private get api(): Api {
    return new Api(this.base);
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
    this.giveUpReading();
  }

  private async refresh(): Promise<void> {
    window.clearTimeout(this.timer);
    this.now = Date.now();
    if (!document.hidden && !this.abort) await this.readAll();
    if (!this.isConnected) return;
    const pause = busyWith(this.data?.rollout ?? null) ? ROLLOUT_REFRESH_MS : REFRESH_MS;
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
      const [status, found, advice, osdMap, rollout, changes] = await Promise.all([
        api.get<Status>('', signal),
        api.get<Finding[]>('/findings', signal),
        api.get<Recommendation[]>('/recommendation', signal),
        api.get<OsdMap>('/map', signal),
        api.get<Rollout | null>('/rollout', signal),
        api.get<Change[]>('/history', signal),
      ]);
      this.data = {
        status,
        findings: found,
        recommendations: advice,
        osdMap,
        rollout,
        history: changes,
      };
      this.readAt = this.now = Date.now();
      this.error = null;
      this.subject = this.stillThere(this.subject) ?? firstClass(status.groups);
      // A module that has just started has nothing to draw yet, but soon.
      const due = this.now - this.trendAt >= TREND_REFRESH_MS;
      if (!this.trend || due || underWay(rollout)) await this.readCharts(signal);
      if (this.now - this.decisionsAt >= DECISION_REFRESH_MS) await this.readDecisions(signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.error = error;
      if (error.status === 401) sessionStorage.setItem(RETURN_KEY, '1');
    } finally {
      if (this.abort === abort) this.abort = null;
    }
  }

  private giveUpReading(): void {
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

  /** What charts show; without it everything else is as good as before. */
  private async readCharts(signal?: AbortSignal): Promise<void> {
    try {
      await this.readTrends(signal);
      this.chartError = '';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.chartError = error.message;
    }
  }

  /** Likewise. */
  private async readDecisions(signal: AbortSignal): Promise<void> {
    try {
      this.decisions = await this.api.get<Decision[]>('/candidates', signal);
      this.decisionError = '';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Asked for nothing more than itself: a module that is older than the tab.
      this.decisionError = error.status === 400 ? '' : error.message;
    }
    this.decisionsAt = Date.now();
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
    // Somebody may have chosen something else meanwhile.
    if (this.subject !== subject) return;
    this.trend = trends[0] ?? null;
    this.growth = growth;
    this.canary = canary;
  }

  private async readCanary(signal?: AbortSignal): Promise<Picture[]> {
    const rollout = this.data?.rollout;
    const canary = rollout?.batches[0]?.osds ?? [];
    if (!rollout || !canary.length) return [];
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
    const { status } = data;
    const campaign = data.rollout?.campaign ?? null;
    const old = this.error !== null || this.now - this.readAt > STALE_MS;
    return html`<div class=${old ? 'rt-old' : ''}>
      ${status.notices.map((n) => html`<div class="alert alert-warning" role="status">${n}</div>`)}
      ${this.headline(data)} ${this.figures(status)}
      ${data.rollout && underWay(data.rollout) ? this.rollout(data.rollout) : nothing}
      ${campaign && underWay(campaign) ? this.campaign(campaign) : nothing}
      ${status.mode === 'off' || status.groups.length === 0
        ? this.nothing(status)
        : html`${this.groups(status.groups)} ${recommendations(data.recommendations, this.adviceHost(data))}
          ${decisions(this.decisions, this.decisionError)} ${findings(data.findings)} ${this.osdMap(data)} ${this.charts(data)}`}
      ${campaign && !underWay(campaign) ? this.campaign(campaign) : nothing}
      ${data.rollout && !underWay(data.rollout) ? this.rollout(data.rollout) : nothing}
      ${history(data.history, data.status.track_record)}
    </div>`;
  }

  private failure(error: ApiError): TemplateResult {
    if (error.status === 503 && error.code === 'module_disabled') {
      return html`<div class="rt-empty-state" role="alert">
        <p><strong>The RocksDB Tuner is disabled.</strong></p>
        <p>To enable it: <code>ceph mgr module enable rocksdb_tuner</code></p>
      </div>`;
    }
    if (error.status === 403) {
      return html`<div class="rt-empty-state" role="alert">
        <p><strong>You may not see this.</strong></p>
        <p>It needs permission to read OSDs; ask an administrator of the dashboard for it.</p>
      </div>`;
    }
    const text =
      error.status === 401 ? 'Your login has ended: log in again to go on.' : error.message;
    return html`<div class="alert alert-warning rt-row" role="alert">
      <span>${text}</span>
      <button class="btn btn-light" @click=${() => {
  void this.refresh();
}}>Try again</button>
    </div>`;
  }

  private stale(): TemplateResult | typeof nothing {
    const { sampling } = this.data?.status ?? {};
    if (this.now - this.readAt > STALE_MS) {
      return html`<div class="alert alert-warning" role="status">
        This is of ${new Date(this.readAt).toLocaleTimeString()}: nothing newer could be read.
      </div>`;
    }
    if (!sampling || !isOld(sampling)) return nothing;
    return html`<div class="alert alert-warning" role="status">
      The newest sample is ${duration(sampling.last_sample_age_s)} old: OSDs do not report to the
      manager as they should.
    </div>`;
  }

  private headline({ status, rollout }: Overview): TemplateResult {
    const [kind, text] = state(status, rollout);
    return html`<div class=${`rt-headline rt-${kind}`} role="status">
      <strong>${text}</strong>
    </div>`;
  }

  private figures(status: Status): TemplateResult {
    const { findings: f, sampling } = status;
    const mode = this.mayChange
      ? html`<button class="btn btn-light" aria-label=${`Mode ${status.mode}, change`} @click=${() => this.askMode(status.mode)}>
          ${status.mode} …
        </button>`
      : status.mode;
    return facts([
      ['Mode', mode],
      ['OSDs measured', sampling.osds.toLocaleString()],
      ['Every', duration(sampling.interval_s)],
      ['Findings', `${plural(f.error, 'error')}, ${plural(f.warning, 'warning')}, ${f.info} for information`],
      ['As of', html`<time datetime=${status.time ?? ''}>${moment(status.time)}</time>`],
    ]);
  }

  private nothing(status: Status): TemplateResult {
    return html`<div class="rt-empty-state" role="status">
      ${status.mode === 'off'
        ? html`<p><strong>The mode is off: nothing is measured.</strong></p>
            <p>To measure and advise: <code>ceph rocksdb-tuner mode recommend</code></p>`
        : html`<p><strong>Nothing has been measured yet.</strong></p>
            <p>
              OSDs report every few seconds; after two reports there is something to see. A cluster
              without OSDs stays like this.
            </p>`}
    </div>`;
  }

  private groups(groups: Group[]): TemplateResult {
    return html`<h3>Device classes</h3>
      <div class="rt-scroll"><table class=${TABLE}>
        <thead>
          <tr>
            ${['Device class', 'OSDs', 'Workload', 'Limited by', 'Option set', 'Conclusion'].map(
              (t) => html`<th scope="col">${t}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${groups.map(
            (g) => html`<tr>
              <th scope="row">${g.who.replace('osd/class:', '')}</th>
              <td>${g.osds.length.toLocaleString()}</td>
              <td>${g.workload.class}${confidence(g.workload.confidence)}</td>
              <td title=${g.limit.evidence.map((e) => e.statement).join(' ')}>${limit(g.limit)}</td>
              <td>
                ${g.options.profile ?? `${plural(g.options.variants.length, 'option string')}`}
                ${g.options.pending_restart.length
                  ? label(`restart pending on ${g.options.pending_restart.length}`, 'warning')
                  : nothing}
              </td>
              <td>${g.conclusion ?? '–'}</td>
            </tr>`,
          )}
        </tbody>
      </table></div>`;
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
            ${Object.entries(COLOURINGS).map(
              ([value, text]) =>
                html`<option value=${value} ?selected=${value === this.coloring}>${text}</option>`,
            )}
          </select>
        </label>
        <span class="rt-note">
          Choose an OSD to see its charts.${osdMap.spilled.some(Boolean)
            ? ' A red frame: a part of its DB is on the slow device.'
            : ''}
        </span>
      </div>
      <rocksdb-tuner-map
        .osdMap=${osdMap}
        .coloring=${this.coloring}
        .selected=${chosen}
        @choose=${(event: CustomEvent<number>) => this.choose({ osd: event.detail })}
      ></rocksdb-tuner-map>`;
  }

  private charts({ osdMap }: Overview): TemplateResult {
    const { subject, trend, growth } = this;
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
            The charts could not be read: ${this.chartError}
          </div>`
        : nothing}
      ${trend
        ? html`<div class="rt-charts">
            ${[...pictures(trend), ...(growth?.time_s.length ? [growthPicture(growth)] : [])].map(
              (picture) => html`<rocksdb-tuner-chart .picture=${picture}></rocksdb-tuner-chart>`,
            )}
          </div>`
        : html`<p class="rt-empty">Nothing was measured over time yet.</p>`}`;
  }

  private rollout(rollout: Rollout): TemplateResult {
    return rolloutSection(rollout, {
      mayChange: this.mayChange,
      control: (what, of) => this.askControl(what, of),
      chart: this.canary.length
        ? html`<div class="rt-charts">
            ${this.canary.map(
              (picture) => html`<rocksdb-tuner-chart .picture=${picture}></rocksdb-tuner-chart>`,
            )}
          </div>`
        : nothing,
    });
  }

  private campaign(campaign: Campaign): TemplateResult {
    return campaignSection(campaign, {
      mayChange: this.mayChange,
      control: (what, of) => this.askCampaignControl(what, of),
    });
  }

  private choose(subject: Subject): void {
    this.subject = subject;
    void this.readCharts();
  }

  private adviceHost(data: Overview): AdviceHost {
    return {
      mayChange: this.mayChange,
      busy: busyWith(data.rollout),
      read: this.read,
      meanings: this.meanings,
      conclusions: data.status.groups.flatMap((g) => g.conclusion ?? []),
      open: (id) => void this.readOn(id, 'full'),
      showPlan: (id) => void this.readOn(id, 'plan'),
      apply: (r) => void this.askApply(r),
    };
  }

  /** Read more of a recommendation; what was read stays while it stands. */
  private async readOn(id: string, what: 'full' | 'plan'): Promise<Reading | null> {
    const before = this.read.get(id) ?? { full: null, plan: null };
    if (before[what]) return before;
    const path = `/recommendation/${encodeURIComponent(id)}`;
    try {
      if (!this.meanings.size) {
        const options = await this.api.get<KnownOption[]>('/option');
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
        // What is being read may be of before.
        this.giveUpReading();
        void this.refresh();
      },
    });
  }

  private async askApply(r: Recommendation): Promise<void> {
    if (r.kind === 'compact') {
      this.askCompact(r);
      return;
    }
    const reading = await this.readOn(r.id, 'plan');
    const planned = reading?.plan;
    const canary = planned?.batches[0]?.osds ?? [];
    const watched = planned?.soak.most_s
      ? ` It is watched for ${durations(planned.soak.least_s, planned.soak.most_s)} before any other.`
      : '';
    this.ask({
      title: `Apply ${r.profile ?? r.kind} to ${who(r.who)}`,
      lines: [
        `${r.option} of ${plural(r.osds.length, 'OSD')} (${ids(r.osds)}) is changed.`,
        r.restart_required
          ? `Each of them is restarted${canary.length ? `, ${ids(canary)} first, alone` : ''}; the next is touched only when it is back and does what it should.${watched}`
          : 'None of them is restarted: they run this already, and only entries of the configuration change.',
        `Expected to take ${durations(planned?.expected_duration_s, planned?.expected_duration_most_s)} without waiting.`,
        'You can pause it, abort it, or roll it back to exactly what is there now.',
      ],
      command: `ceph rocksdb-tuner apply ${r.id}`,
      action: 'Apply',
      run: async () => {
        await this.api.change('POST', `/recommendation/${encodeURIComponent(r.id)}/apply`);
      },
    });
  }

  private askCompact(r: Recommendation): void {
    this.ask({
      title: `Compact the RocksDB of ${who(r.who)}`,
      lines: [
        `${plural(r.osds.length, 'OSD')} (${ids(r.osds)}) are compacted, ${ids(r.osds.slice(0, 1))} first, alone; then host by host. None is restarted, and no option is changed.`,
        'An OSD is slower while it compacts. No other begins while writes of clients take longer than before, or the cluster is not healthy enough for it.',
        'A compaction can be neither rolled back nor stopped: pause and abort prevent the next one.',
      ],
      command: `ceph rocksdb-tuner apply ${r.id}`,
      action: 'Compact',
      run: async () => {
        await this.api.change('POST', `/recommendation/${encodeURIComponent(r.id)}/apply`);
      },
    });
  }

  private askCampaignControl(what: CampaignControl, campaign: Campaign): void {
    const { api } = this;
    const running = inFlight(campaign).map((o) => o.osd);
    const runs = running.length
      ? `The compaction of ${ids(running)} cannot be stopped, and is watched to its end.`
      : 'No OSD compacts at the moment.';
    const left = campaign.osds.length - finished(campaign) - running.length;
    const questions: Record<CampaignControl, Question> = {
      pause: {
        title: 'Pause the campaign',
        lines: [runs, `None of the other ${plural(left, 'OSD')} begins until you resume it.`],
        command: 'ceph rocksdb-tuner rollout pause',
        action: 'Pause',
        run: async () => void (await api.change('POST', '/rollout/pause')),
      },
      resume: {
        title: 'Resume the campaign',
        lines: [
          `It goes on with ${plural(left, 'OSD')}.`,
          'How long writes of clients take by then counts as usual from there on.',
        ],
        command: 'ceph rocksdb-tuner rollout resume',
        action: 'Resume',
        run: async () => void (await api.change('POST', '/rollout/resume')),
      },
      abort: {
        title: 'Abort the campaign',
        lines: [
          runs,
          `${plural(left, 'OSD')} ${left === 1 ? 'is' : 'are'} left as they are. What was compacted stays so.`,
        ],
        command: 'ceph rocksdb-tuner rollout abort',
        action: 'Abort',
        run: async () => void (await api.change('POST', '/rollout/abort')),
      },
    };
    this.ask(questions[what]);
  }

  private askControl(what: Control, rollout: Rollout): void {
    const { api } = this;
    const done = rollout.batches.filter((b) => b.phase === 'done').flatMap((b) => b.osds);
    const changed = done.length ? ids(done) : 'no OSD';
    const questions: Record<Control, Question> = {
      pause: {
        title: 'Pause the rollout',
        lines: [
          'The OSD in flight is brought to safety first, then nothing more is changed.',
          `Changed so far: ${changed}. They keep what they have.`,
        ],
        command: 'ceph rocksdb-tuner rollout pause',
        action: 'Pause',
        run: async () => void (await api.change('POST', '/rollout/pause')),
      },
      resume: {
        title: 'Resume the rollout',
        lines: [
          `It goes on with ${plural(rollout.osds_total - rollout.osds_finished, 'OSD')}, each restarted as planned.`,
        ],
        command: 'ceph rocksdb-tuner rollout resume',
        action: 'Resume',
        run: async () => void (await api.change('POST', '/rollout/resume')),
      },
      abort: {
        title: 'Abort the rollout',
        lines: [
          'The OSD in flight is brought to safety, then the rollout ends where it is.',
          `Changed so far: ${changed}. They keep what they have; roll back to restore them.`,
        ],
        command: 'ceph rocksdb-tuner rollout abort',
        action: 'Abort',
        run: async () => void (await api.change('POST', '/rollout/abort')),
      },
      rollback: {
        title: 'Roll back',
        lines: [
          `Exactly what was there before rollout ${rollout.id} is restored for ${who(rollout.who)}.`,
          `Every OSD that runs the new options is restarted once more, one at a time: ${changed}.`,
          ...(underWay(rollout.campaign)
            ? ['The compaction campaign ends before that; what was compacted stays so.']
            : []),
        ],
        command: `ceph rocksdb-tuner rollback ${rollout.id}`,
        action: 'Roll back',
        run: async () => void (await api.change('POST', '/rollback', { rollout_id: rollout.id })),
      },
      ack: {
        title: 'Take note of the rollout',
        lines: ['Nothing is changed; its health check in the cluster clears.'],
        command: 'ceph rocksdb-tuner rollout ack',
        action: 'Take note',
        run: async () => void (await api.change('POST', '/rollout/ack')),
      },
    };
    this.ask(questions[what]);
  }

  private askMode(current: string): void {
    let wanted = current;
    const choose = (event: Event): void => {
      wanted = (event.currentTarget as HTMLSelectElement).value;
    };
    this.ask({
      title: 'Change the mode',
      lines: Object.entries(MODES).map(([name, does]) => `${name}: ${does}`),
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

/** What is under way, beside which nothing else can begin. */
function busyWith(rollout: Rollout | null): 'rollout' | 'compaction campaign' | null {
  if (rollout === null) return null;
  if (underWay(rollout)) return 'rollout';
  return underWay(rollout.campaign) ? 'compaction campaign' : null;
}

/** How things stand, in one line. */
function state(status: Status, rollout: Rollout | null): [string, string] {
  const { findings: f, sampling } = status;
  const advice = status.recommendations
    ? `${plural(status.recommendations, 'recommendation')}`
    : '';
  if (rollout && underWay(rollout)) {
    const progress = `${rollout.osds_finished} of ${plural(rollout.osds_total, 'OSD')}`;
    return rollout.phase === 'waiting'
      ? ['warning', `A rollout requires operator action: ${rollout.paused_reason ?? ''} (${progress})`]
      : ['busy', `A rollout is under way: ${rollout.phase}, ${progress}`];
  }
  const campaign = rollout?.campaign ?? null;
  if (campaign && underWay(campaign)) {
    const progress = `${finished(campaign)} of ${plural(campaign.osds.length, 'OSD')}`;
    return campaign.phase === 'waiting'
      ? ['warning', `A compaction campaign waits: ${campaign.paused_reason ?? ''} (${progress})`]
      : ['busy', `A compaction campaign is under way: ${progress}`];
  }
  if (status.mode === 'off') return ['', 'The mode is off.'];
  if (!sampling.osds) return ['', 'Nothing has been measured yet.'];
  if (isOld(sampling)) return ['warning', 'Nothing new is measured: what is shown is old.'];
  const parts = [
    f.error ? plural(f.error, 'error') : '',
    f.warning ? plural(f.warning, 'warning') : '',
    advice,
  ].filter(Boolean);
  if (f.error) return ['danger', `Needs attention: ${parts.join(', ')}.`];
  if (parts.length) return ['warning', `Could be better: ${parts.join(', ')}.`];
  return ['good', `All is well: ${plural(sampling.osds, 'OSD')}, and nothing to change.`];
}

function isOld({ last_sample_age_s, interval_s }: Status['sampling']): boolean {
  return (last_sample_age_s ?? 0) > STALE_INTERVALS * Math.max(10, interval_s ?? 0);
}

function confidence(value: number): string {
  return value > 0 ? ` (${Math.round(value * 100)}% sure)` : '';
}

function limit(found: Limit): string {
  if (found.resource === 'unknown') return '–';
  const name = found.resource === 'none' ? 'nothing that is measured' : found.resource;
  return `${name}${confidence(found.confidence)}`;
}

function firstClass(groups: Group[]): Subject | null {
  const largest = [...groups].sort((a, b) => b.osds.length - a.osds.length)[0];
  return largest ? { device_class: largest.who.replace('osd/class:', '') } : null;
}

/** The OSD of a class whose DB device is used most; null where none has one. */
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
