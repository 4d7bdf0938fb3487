import { LitElement, html, nothing, type TemplateResult } from 'lit';

import { ApiError, overview, type Finding, type Group, type Overview, type Recommendation } from './api';

const REFRESH_MS = 10_000;
/** Older than this, what is shown is said to be old. */
const STALE_MS = 60_000;

const BADGE = { error: 'danger', warning: 'warning', info: 'info' } as const;

/**
 * The panel below the tab. Without shadow DOM: the dashboard's own classes then give it the look of
 * each release (Bootstrap 4 or 5, and Carbon's in Tentacle).
 */
export class RocksDbTunerPanel extends LitElement {
  static override properties = {
    base: { attribute: false },
    data: { state: true },
    error: { state: true },
    now: { state: true },
  };

  base = '';
  private data: Overview | null = null;
  private error: ApiError | null = null;
  private now = Date.now();
  private readAt = 0;
  private timer: number | undefined;
  private abort: AbortController | null = null;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.refresh();
    this.timer = window.setInterval(() => void this.refresh(), REFRESH_MS);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.clearInterval(this.timer);
    this.abort?.abort();
  }

  private async refresh(): Promise<void> {
    this.now = Date.now();
    if (document.hidden || this.abort) return;
    this.abort = new AbortController();
    try {
      this.data = await overview(this.base, this.abort.signal);
      this.readAt = this.now = Date.now();
      this.error = null;
    } catch (error) {
      if (error instanceof ApiError) this.error = error;
    } finally {
      this.abort = null;
    }
  }

  protected override render(): TemplateResult {
    const { data, error } = this;
    if (!data) return error ? this.failure(error) : html`<p role="status">Loading …</p>`;
    return html`
      ${error ? this.failure(error) : nothing} ${this.stale()}
      ${data.status.notices.map((n) => html`<div class="alert alert-warning">${n}</div>`)}
      ${this.summary(data)} ${this.groups(data.status.groups)} ${this.findings(data.findings)}
      ${this.recommendations(data.recommendations)}
    `;
  }

  private failure(error: ApiError): TemplateResult {
    const kind = error.status === 503 || error.status === 403 ? 'info' : 'warning';
    return html`<div class="alert alert-${kind}" role="alert">${error.message}</div>`;
  }

  private stale(): TemplateResult | typeof nothing {
    const ageMs = this.now - this.readAt;
    if (ageMs <= STALE_MS) return nothing;
    return html`<div class="alert alert-warning" role="status">
      This is of ${new Date(this.readAt).toLocaleTimeString()}: nothing newer could be read.
    </div>`;
  }

  private summary({ status }: Overview): TemplateResult {
    const { findings: f, rollout } = status;
    return html`<p>
      <strong>Mode:</strong> ${status.mode} · <strong>OSDs measured:</strong> ${status.sampling.osds}
      · <strong>Findings:</strong> ${f.error} errors, ${f.warning} warnings, ${f.info} for
      information · <strong>Recommendations:</strong> ${status.recommendations} ·
      <strong>Rollout:</strong> ${rollout
        ? `${rollout.phase}, ${rollout.osds_finished} of ${rollout.osds_total} OSDs`
        : 'none'}
      ${status.time
        ? html`· <strong>As of:</strong>
            <time datetime=${status.time}>${new Date(status.time).toLocaleString()}</time>`
        : nothing}
    </p>`;
  }

  private groups(groups: Group[]): TemplateResult {
    if (!groups.length) return html`<p>No device class has been measured yet.</p>`;
    return html`<div class="table-responsive"><table class="table table-striped cds--data-table">
      <caption class="visually-hidden sr-only">Device classes</caption>
      <thead>
        <tr>
          ${['Device class', 'OSDs', 'Workload', 'Option set', 'Conclusion'].map(
            (t) => html`<th scope="col">${t}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${groups.map(
          (g) => html`<tr>
            <th scope="row">${g.who.replace('osd/class:', '')}</th>
            <td>${g.osds.length}</td>
            <td>${g.workload.class} (${Math.round(g.workload.confidence * 100)} %)</td>
            <td>
              ${g.options.profile ?? 'several, or none that is known'}${g.options.pending_restart
                .length
                ? html`, restart pending on ${g.options.pending_restart.length}`
                : nothing}
            </td>
            <td>${g.conclusion ?? '-'}</td>
          </tr>`,
        )}
      </tbody>
    </table></div>`;
  }

  private findings(findings: Finding[]): TemplateResult {
    return html`<h3>Findings</h3>
      ${findings.length ? nothing : html`<p>None: nothing is worth attention.</p>`}
      ${findings.map(
        (f) => html`<details>
          <summary>
            <span class="badge badge-${BADGE[f.severity]} bg-${BADGE[f.severity]}">${f.severity}</span>
            ${f.summary}
          </summary>
          <p>${f.remedy} ${f.do_not ?? nothing}</p>
          ${this.commands(f.commands)}
          <p><small>OSDs: ${osdNames(f.osds)}. Source: ${f.source}</small></p>
        </details>`,
      )}`;
  }

  private recommendations(found: Recommendation[]): TemplateResult {
    return html`<h3>Recommendations</h3>
      ${found.length ? nothing : html`<p>Nothing to change.</p>`}
      ${found.map(
        (r) => html`<details>
          <summary>
            ${r.kind} ${r.profile ?? ''} for ${r.who}: ${r.osds.length} OSDs, risk
            ${r.risk}${r.restart_required ? ', restarts them one at a time' : ''}
          </summary>
          <ul>
            ${r.reasons.map((x) => html`<li>${x.statement} <small>(${x.source})</small></li>`)}
          </ul>
          ${this.commands([
            `ceph rocksdb-tuner apply ${r.id} --dry-run`,
            `ceph rocksdb-tuner apply ${r.id}`,
          ])}
        </details>`,
      )}`;
  }

  private commands(lines: string[]): TemplateResult | typeof nothing {
    if (!lines.length) return nothing;
    return html`<pre tabindex="0" aria-label="Commands">${lines.join('\n')}</pre>`;
  }
}

/** At most as many as can be read. */
function osdNames(osds: number[], limit = 20): string {
  if (!osds.length) return 'none in particular';
  const names = osds.slice(0, limit).map((id) => `osd.${id}`).join(', ');
  return osds.length > limit ? `${names} and ${osds.length - limit} more` : names;
}
