import { LitElement, html, nothing, TemplateResult } from 'lit';

/** What is shown; with `by`, what it is sorted and found by instead. */
export type Cell = string | number | null | { shown: unknown; by: string | number | null };

const PAGE_ROWS = 10;
/** A table with as many rows has neither search nor pages. */
const SHORT_ROWS = 15;
const texts = new Intl.Collator(undefined, { numeric: true });

/** A table that sorts by each column; a long one is searched and paged. */
export class RocksDbTunerTable extends LitElement {
  static override properties = {
    label: { attribute: false },
    titles: { attribute: false },
    rows: { attribute: false },
    column: { state: true },
    descending: { state: true },
    words: { state: true },
    page: { state: true },
  };

  declare label: string;
  declare titles: readonly string[];
  declare rows: readonly (readonly Cell[])[];
  private declare column: number;
  private declare descending: boolean;
  private declare words: string;
  private declare page: number;

  constructor() {
    super();
    this.label = '';
    this.titles = [];
    this.rows = [];
    this.column = -1;
    this.descending = false;
    this.words = '';
    this.page = 0;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render(): TemplateResult {
    const { label, titles, rows, column, descending, words } = this;
    const found = rows.filter((row) =>
      row.some((cell) => `${keyOf(cell) ?? ''}`.toLowerCase().includes(words)),
    );
    if (column >= 0) found.sort((a, b) => compare(keyOf(a[column]), keyOf(b[column]), descending));
    const long = rows.length > SHORT_ROWS;
    const last = Math.max(0, Math.ceil(found.length / PAGE_ROWS) - 1);
    const page = Math.min(this.page, last);
    const first = page * PAGE_ROWS;
    const shown = long ? found.slice(first, first + PAGE_ROWS) : found;
    const turn = (to: number, text: string): TemplateResult =>
      html`<button
        class="btn btn-light"
        ?disabled=${to < 0 || to > last}
        @click=${() => (this.page = to)}
      >
        ${text}
      </button>`;
    return html`${long
        ? html`<div class="rt-row">
            <input
              class="form-control"
              type="search"
              placeholder="Search"
              aria-label=${`Search: ${label}`}
              @input=${(event: Event) => {
                this.words = (event.currentTarget as HTMLInputElement).value.toLowerCase();
                this.page = 0;
              }}
            />
            <span class="rt-note" role="status">
              ${shown.length ? `${first + 1} to ${first + shown.length}` : 'None'} of ${found.length}
            </span>
            ${turn(page - 1, 'Previous')} ${turn(page + 1, 'Next')}
          </div>`
        : nothing}
      <div class="rt-scroll" tabindex="0" role="group" aria-label=${label}>
        <table class="table table-striped cds--data-table rt-table">
          <thead>
            <tr>
              ${titles.map((title, at) => this.heading(title, at))}
            </tr>
          </thead>
          <tbody>
            ${shown.map(
              (row) => html`<tr>
                ${row.map((cell, at) =>
                  at ? html`<td>${shownOf(cell)}</td>` : html`<th scope="row">${shownOf(cell)}</th>`,
                )}
              </tr>`,
            )}
          </tbody>
        </table>
      </div>`;
  }

  private heading(title: string, at: number): TemplateResult {
    if (this.rows.length < 2) return html`<th scope="col">${title}</th>`;
    const { column, descending } = this;
    const order = at !== column ? 'none' : descending ? 'descending' : 'ascending';
    return html`<th scope="col" aria-sort=${order}>
      <button
        class="rt-sort"
        @click=${() => {
          this.descending = at === column && !descending;
          this.column = at;
        }}
      >
        ${title}
      </button>
    </th>`;
  }
}

function keyOf(cell: Cell | undefined): string | number | null {
  return typeof cell === 'object' && cell ? cell.by : (cell ?? null);
}

function shownOf(cell: Cell): unknown {
  if (typeof cell === 'object' && cell) return cell.shown;
  return typeof cell === 'number' ? cell.toLocaleString() : (cell ?? '–');
}

/** What is unknown comes last in both directions. */
function compare(a: string | number | null, b: string | number | null, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : texts.compare(`${a}`, `${b}`);
  return descending ? -order : order;
}
