import { LitElement, html, nothing, TemplateResult } from 'lit';

import { ApiError } from './api';
import { ACT, button, STOP } from './parts';

export interface Question {
  title: string;
  /** The consequences, one sentence each. */
  lines: string[];
  /** An input, if there is something to select. */
  choice?: TemplateResult;
  /** The equivalent command. */
  command?: string;
  /** The label of the confirmation button. */
  action: string;
  /** It ends or undoes something. */
  final?: boolean;
  run: () => Promise<void>;
}

/** Confirms every change; stays open with the error if the change is refused. */
export class RocksDbTunerDialog extends LitElement {
  static override properties = {
    question: { state: true },
    busy: { state: true },
    refusal: { state: true },
  };

  private declare question: Question | null;
  private declare busy: boolean;
  private declare refusal: string;

  constructor() {
    super();
    this.question = null;
    this.busy = false;
    this.refusal = '';
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  async ask(question: Question): Promise<void> {
    this.question = question;
    this.refusal = '';
    this.busy = false;
    await this.updateComplete;
    this.querySelector('dialog')?.showModal();
  }

  protected override render(): TemplateResult | typeof nothing {
    const { question, busy, refusal } = this;
    return html`<dialog
      class="rt-dialog"
      aria-labelledby="rt-dialog-title"
      @close=${() => {
        this.question = null;
      }}
    >
      ${question
        ? html`<h4 id="rt-dialog-title">${question.title}</h4>
            <ul>
              ${question.lines.map((line) => html`<li>${line}</li>`)}
            </ul>
            ${question.choice ?? nothing}
            ${question.command
              ? html`<p class="rt-note">CLI equivalent: <code>${question.command}</code></p>`
              : nothing}
            ${refusal ? html`<div class="alert alert-danger" role="alert">${refusal}</div>` : nothing}
            <div class="rt-row">
              ${button(question.action, () => void this.run(), question.final ? STOP : ACT, busy)}
              <button class="btn btn-light" autofocus @click=${() => this.close()}>Cancel</button>
            </div>`
        : nothing}
    </dialog>`;
  }

  private close(): void {
    this.querySelector('dialog')?.close();
  }

  private async run(): Promise<void> {
    if (!this.question || this.busy) return;
    this.busy = true;
    this.refusal = '';
    try {
      await this.question.run();
      this.close();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.refusal = error.message;
    } finally {
      this.busy = false;
    }
  }
}
