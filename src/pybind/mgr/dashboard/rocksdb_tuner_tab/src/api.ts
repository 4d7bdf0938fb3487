/** The REST API of the RocksDB Tuner: its answers are the JSON of the command line. */

export interface Access {
  available: boolean;
  may_change: boolean;
}

/** What the dashboard answered instead; ``status`` 0: it did not answer. */
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

  /** What the user may do; nothing where the user may not even read. */
  async access(): Promise<Access> {
    try {
      return await this.ask<Access>('GET', 'ui-api/rocksdb_tuner/status');
    } catch {
      return { available: false, may_change: false };
    }
  }

  /** Let the module's status say that there is no place for the tab. */
  async cannotBePlaced(): Promise<void> {
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
      throw new ApiError(0, 'unreachable', 'The dashboard does not answer.');
    }
    const text: { code?: string; detail?: string } | null = await response.json().catch(() => null);
    if (signal?.aborted) throw new DOMException('Not needed any more.', 'AbortError');
    if (!response.ok) {
      throw new ApiError(response.status, text?.code ?? '', text?.detail ?? response.statusText);
    }
    return text as T;
  }
}
