/** Asks the server. Every answer is JSON; errors carry a code; "still indexing" is asked again until it is done. */

import { startAddress, type Early } from './early';
import type { Start } from './types';
import type { Place } from './url';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export type Params = Record<string, string | number | boolean | null | undefined>;

/** Milliseconds between two questions while the server is still indexing. */
const ASK_AGAIN = [100, 200, 300, 500, 1000];

export class Client {
  /** Called with the number of nodes read while an answer has to wait, and with null when it came. */
  onIndexing: (done: number | null) => void = () => {};
  /** Called with the number of questions without an answer whenever it changes. */
  onWaiting: (questions: number) => void = () => {};
  private token = '';
  private waiting = 0;

  constructor(
    private readonly base: URL,
    private early: Early | null = null,
  ) {}

  async get<T>(route: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
    const url = new URL(route, this.base);
    for (const [name, value] of Object.entries(params)) {
      if (value === null || value === undefined || value === '' || value === false) continue;
      url.searchParams.set(name, value === true ? '1' : String(value));
    }
    return this.counted(() => this.ask<T>(url, signal));
  }

  /** What a page needs first; the answer may be under way since before this code came. */
  async start(place: Place, signal: AbortSignal): Promise<Start> {
    return this.counted(() => this.ask<Start>(startAddress(place), signal));
  }

  private async counted<T>(question: () => Promise<T>): Promise<T> {
    this.onWaiting((this.waiting += 1));
    try {
      return await question();
    } finally {
      this.onWaiting((this.waiting -= 1));
    }
  }

  private async ask<T>(url: URL, signal?: AbortSignal): Promise<T> {
    const early = this.early?.address === url.href ? this.early.answer : null;
    if (early) this.early = null;
    for (let turn = 0; ; turn += 1) {
      const response = await (turn === 0 && early ? arrived(early) : reach(url, signal ? { signal } : {}));
      if (response.status !== 202) {
        if (turn > 0) this.onIndexing(null);
        return read<T>(response);
      }
      const waiting = (await response.json()) as { error: { done?: number } };
      this.onIndexing(waiting.error.done ?? 0);
      await pause(ASK_AGAIN[Math.min(turn, ASK_AGAIN.length - 1)] ?? 1000, signal);
    }
  }

  /** Sends a change or starts a job; the token of the server's start goes with it. */
  async post<T>(route: string, body: unknown): Promise<T> {
    const send = (): Promise<Response> =>
      reach(new URL(route, this.base), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Msprobe-Token': this.token },
        body: JSON.stringify(body),
      });
    if (!this.token && route !== 'session') this.token = (await this.post<{ token: string }>('session', {})).token;
    return this.counted(async () => read<T>(await send()));
  }
}

function reach(url: URL, init: RequestInit): Promise<Response> {
  return arrived(fetch(url, { ...init, credentials: 'same-origin' }));
}

async function arrived(answer: Promise<Response>): Promise<Response> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'offline', String(error));
  }
}

async function read<T>(response: Response): Promise<T> {
  const text = await response.text();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError(response.status, 'no_json', `HTTP ${response.status}`);
  }
  if (response.ok) return value as T;
  const error = (value as { error?: { code?: string; message?: string } }).error;
  throw new ApiError(response.status, error?.code ?? 'unknown', error?.message ?? `HTTP ${response.status}`);
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new DOMException('stopped', 'AbortError'));
    });
  });
}

/** Whether an error only says that the question was withdrawn. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
