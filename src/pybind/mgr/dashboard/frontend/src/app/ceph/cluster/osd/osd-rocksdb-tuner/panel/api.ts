/** The REST API of the RocksDB Tuner: the same JSON as on the command line. */

export interface Access {
  available: boolean;
  may_change: boolean;
}

/** An error response; ``status`` 0: no response. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const VERSION = 'application/vnd.ceph.api.v1.0+json';

export class Api {
  constructor(private readonly base: string) {}

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.ask<T>('GET', `api/rocksdb_tuner${path}`, undefined, signal);
  }

  change<T>(method: 'POST' | 'PUT', path: string, body: object = {}): Promise<T> {
    return this.ask<T>(method, `api/rocksdb_tuner${path}`, body);
  }

  /** The permissions of the user; none if they cannot be read. */
  async access(): Promise<Access> {
    try {
      return await this.ask<Access>('GET', 'ui-api/rocksdb_tuner/status');
    } catch {
      return { available: false, may_change: false };
    }
  }

  /** Report that the tab cannot be added, so that the module's status shows it. */
  async reportTabMissing(): Promise<void> {
    await this.ask('POST', 'ui-api/rocksdb_tuner/unplaced', {}).catch(() => undefined);
  }

  private async ask<T>(
    method: string,
    path: string,
    body?: object,
    signal?: AbortSignal,
  ): Promise<T> {
    let response: Response;
    try {
      response = await fetch(this.base + path, {
        method,
        headers: { Accept: VERSION, ...(body && { 'Content-Type': 'application/json' }) },
        credentials: 'same-origin',
        ...(body && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, 'unreachable', 'The dashboard does not respond.');
    }
    const text: { code?: string; detail?: string } | null = await response.json().catch(() => null);
    if (signal?.aborted) throw new DOMException('No longer needed.', 'AbortError');
    if (!response.ok) {
      throw new ApiError(response.status, text?.code ?? '', text?.detail ?? response.statusText);
    }
    return text as T;
  }
}
