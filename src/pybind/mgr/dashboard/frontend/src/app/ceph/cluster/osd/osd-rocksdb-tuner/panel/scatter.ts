import { html, nothing, svg, SVGTemplateResult, TemplateResult } from 'lit';

import type { Considered } from './answers';
import {
  FONT_PX,
  inOrder,
  labelOf,
  layout,
  Box,
  Label,
  Layout,
  Mark,
} from './decision';
import { plural, resourceName, signedPercent, spanned, who } from './format';
import { SizedElement } from './sized';

const HEIGHT = 340;
const WIDTH_MOST = 860;
/** The maximum distance between the pointer and the mark that it selects. */
const NEAR_PX = 16;

/** Candidates by gain and worst loss; the table below has the same data. */
export class RocksDbTunerScatter extends SizedElement {
  static override properties = {
    decision: { attribute: false },
    hovered: { state: true },
    width: { state: true },
  };

  declare decision: Considered | null;
  /** Identified by its options, since names of variants are not unique. */
  private declare hovered: string | null;
  private declare width: number;

  constructor() {
    super();
    this.decision = null;
    this.hovered = null;
    this.width = 0;
  }

  protected override resized(): void {
    this.width = Math.floor(this.clientWidth);
  }

  protected override render(): TemplateResult | typeof nothing {
    const { decision, hovered } = this;
    if (!decision?.resource || this.width <= 0) return nothing;
    const size = { width: Math.min(this.width, WIDTH_MOST), height: HEIGHT };
    const found = inOrder(decision, decision.resource);
    const made = layout(found, decision, size, this.measure());
    if (found.every((w) => w.candidate.origin === 'running')) {
      return html`<p class="rt-empty">No other option string is feasible for these OSDs.</p>`;
    }
    if (!made.marks.some((mark) => mark.candidate.origin !== 'running')) {
      return html`<p class="rt-empty">
        The effect of other option strings on ${resourceName(decision.resource)} is unknown.
      </p>`;
    }
    const pointed = made.marks.find((mark) => mark.candidate.options === hovered);
    const unlabeled = made.marks.length - made.labels.length;
    const hidden = found.length - made.marks.length;
    return html`
      <p class="rt-note">
        Points are estimates, lines are 80% intervals. A candidate can be chosen only if it is in
        the shaded region with 80% probability.
        ${decision.unconstrained.length
          ? `Additional use of ${decision.unconstrained.map(resourceName).join(', ')} is not counted
            as a loss: the capacity of the OSDs is unknown.`
          : nothing}
      </p>
      <p class="rt-axis">↑ Worst loss: additional use of another resource</p>
      <div class="rt-scatter" style="width:${size.width}px">
        <svg
          role="img"
          aria-label=${describe(decision, made)}
          width=${size.width}
          height=${size.height}
          viewBox="0 0 ${size.width} ${size.height}"
          @mousemove=${(event: MouseEvent) => {
            this.hovered = nearest(made.marks, event.offsetX, event.offsetY);
          }}
          @mouseleave=${() => {
            this.hovered = null;
          }}
        >
          ${ground(made)} ${made.labels.map(({ mark }) => whiskers(mark))} ${pointed ? whiskers(pointed) : nothing}
          ${made.labels.filter((label) => label.hasLeader).map(leader)}
          ${[...made.marks].reverse().map((mark) => shape(mark, mark === pointed))}
          ${made.labels.map(text)}
        </svg>
        ${pointed ? tooltip(pointed, decision.resource, size.width) : nothing}
      </div>
      <p class="rt-axis rt-axis-x">
        Gain: relief of ${resourceName(decision.resource)} →
      </p>
      ${legend(decision, made)}
      ${unlabeled || hidden
        ? html`<p class="rt-note">
            ${unlabeled ? `${plural(unlabeled, 'candidate')} not labeled for lack of room. ` : ''}
            ${hidden ? `${plural(hidden, 'candidate')} with unknown effect not shown.` : ''}
          </p>`
        : nothing}
    `;
  }

  private measure(): (text: string) => number {
    const context = document.createElement('canvas').getContext('2d');
    if (!context) return (label) => label.length * FONT_PX * 0.6;
    // Bold, as the label of the chosen candidate.
    context.font = `bold ${FONT_PX}px ${getComputedStyle(this).fontFamily}`;
    return (label) => context.measureText(label).width;
  }
}

function nearest(marks: readonly Mark[], x: number, y: number): string | null {
  let found: string | null = null;
  let least = NEAR_PX;
  for (const mark of marks) {
    const away = Math.hypot(mark.x - x, mark.y - y);
    if (away < least) [found, least] = [mark.candidate.options, away];
  }
  return found;
}

/** Axes and the region in which a candidate can be chosen. */
function ground({ plot, x, y, region }: Layout): SVGTemplateResult {
  return svg`
    <rect class="rt-region" x=${region.left} y=${region.top}
      width=${Math.max(0, region.right - region.left)}
      height=${Math.max(0, region.bottom - region.top)}></rect>
    ${x.map(
      ({ at, value }) => svg`
        <line class=${value === 0 ? 'rt-zero' : 'rt-grid'} x1=${at} x2=${at} y1=${plot.top} y2=${plot.bottom}></line>
        <text x=${at} y=${plot.bottom + 17} text-anchor="middle">${signedPercent(value)}</text>`,
    )}
    ${y.map(
      ({ at, value }) => svg`
        <line class=${value === 0 ? 'rt-zero' : 'rt-grid'} x1=${plot.left} x2=${plot.right} y1=${at} y2=${at}></line>
        <text x=${plot.left - 8} y=${at + 4} text-anchor="end">${signedPercent(value)}</text>`,
    )}
    ${bar({ left: region.left, right: region.left, top: plot.top, bottom: plot.bottom })}
    ${bar({ left: plot.left, right: plot.right, top: region.top, bottom: region.top })}`;
}

function bar({ left, right, top, bottom }: Box): SVGTemplateResult {
  return svg`<line class="rt-bar" x1=${left} x2=${right} y1=${top} y2=${bottom}></line>`;
}

function kind({ candidate }: Mark): 'chosen' | 'running' | 'other' {
  if (candidate.chosen) return 'chosen';
  return candidate.origin === 'running' ? 'running' : 'other';
}

function whiskers(mark: Mark): SVGTemplateResult {
  return svg`<path class=${`rt-whisker rt-${kind(mark)}-line`}
    d="M${mark.left} ${mark.y}H${mark.right}M${mark.x} ${mark.top}V${mark.bottom}"></path>`;
}

function leader({ mark, x, y }: Label): SVGTemplateResult {
  return svg`<line class="rt-leader" x1=${mark.x} y1=${mark.y} x2=${x} y2=${y - FONT_PX * 0.35}></line>`;
}

function shape(mark: Mark, pointed: boolean): SVGTemplateResult {
  const { x, y } = mark;
  const name = `rt-mark rt-mark-${kind(mark)}${pointed ? ' rt-pointed' : ''}`;
  return mark.candidate.origin === 'running'
    ? svg`<path class=${name} d="M${x} ${y - 7}l7 7l-7 7l-7 -7z"></path>`
    : svg`<circle class=${name} cx=${x} cy=${y}
        r=${mark.candidate.chosen ? 7 : 5}></circle>`;
}

function text({ mark, text: content, anchor, x, y }: Label): SVGTemplateResult {
  return svg`<text class=${`rt-name${mark.candidate.chosen ? ' rt-chosen' : ''}`}
    x=${x} y=${y} text-anchor=${anchor}>${content}</text>`;
}

function tooltip(mark: Mark, resource: string, width: number): TemplateResult {
  const { candidate, gain, loss, losesOn } = mark;
  const side =
    mark.x > width / 2 ? `right:${width - mark.x + 10}px` : `left:${mark.x + 10}px`;
  return html`<div class="rt-tooltip" style="${side};top:${mark.y + 12}px">
    <strong>${labelOf(candidate)}</strong>
    ${candidate.origin === 'running'
      ? nothing
      : html`<br />Gain on ${resourceName(resource)}: ${spanned(gain)}
          ${losesOn === null ? nothing : html`<br />Worst: ${resourceName(losesOn)} ${spanned(loss)}`}`}
    ${candidate.short ? html`<br />${candidate.short}` : nothing}
  </div>`;
}

function legend(decision: Considered, { marks }: Layout): TemplateResult {
  const there = new Set(marks.map(kind));
  const stays = marks.some((m) => m.candidate.chosen && m.candidate.origin === 'running');
  const drawn = (name: string, radius: number, diamond = false): TemplateResult =>
    html`<svg class="rt-key" width="16" height="16" aria-hidden="true">
      ${diamond
        ? svg`<path class=${`rt-mark rt-mark-${name}`} d="M8 2l6 6l-6 6l-6 -6z"></path>`
        : svg`<circle class=${`rt-mark rt-mark-${name}`} cx="8" cy="8" r=${radius}></circle>`}
    </svg>`;
  return html`<ul class="rt-legend rt-scatter-legend">
    ${there.has('chosen')
      ? html`<li>${drawn('chosen', 6, stays)}${stays ? 'running, chosen' : 'chosen'}</li>`
      : nothing}
    ${there.has('running') ? html`<li>${drawn('running', 6, true)}running</li>` : nothing}
    ${there.has('other') ? html`<li>${drawn('other', 5)}other candidate</li>` : nothing}
    <li>
      <svg class="rt-key" width="16" height="16" aria-hidden="true">
        <rect class="rt-region" width="16" height="16"></rect>
      </svg>gain of at least ${decision.min_gain_percent}%, no loss above
      ${decision.max_loss_percent}%
    </li>
  </ul>`;
}

function describe(decision: Considered, { marks }: Layout): string {
  const chosen = marks.find((mark) => mark.candidate.chosen);
  const result = !chosen
    ? 'None was chosen.'
    : chosen.candidate.origin === 'running'
      ? `Chosen: ${chosen.candidate.name}, which is running.`
      : `Chosen: ${chosen.candidate.name}, gain ${spanned(chosen.gain)}, worst loss ${spanned(chosen.loss)}${chosen.losesOn === null ? '' : ` on ${resourceName(chosen.losesOn)}`}.`;
  return `${plural(marks.length, 'candidate')} for ${who(decision.who)} by gain and worst loss. ${result} The table below lists all candidates.`;
}
