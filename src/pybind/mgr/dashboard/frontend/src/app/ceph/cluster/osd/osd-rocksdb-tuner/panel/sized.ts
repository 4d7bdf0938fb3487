/** The base of elements that draw to their own size. */

import { LitElement } from 'lit';

/** Rendered without shadow DOM, so that the dashboard's styles apply. */
export abstract class SizedElement extends LitElement {
  private readonly sizes = new ResizeObserver(([entry]) => this.resized(entry));

  /** Called with the size at first, and whenever it changes. */
  protected abstract resized(entry: ResizeObserverEntry | undefined): void;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.sizes.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.sizes.disconnect();
  }
}
