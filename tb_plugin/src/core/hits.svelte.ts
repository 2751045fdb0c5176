/** A list of nodes that the server finds, loaded page by page as it comes into sight. */

import { isAbort, type Params } from './api';
import { asProblem } from './state';
import type { Store } from './store.svelte';
import type { Hits } from './types';

const PAGE = 200;
/** Milliseconds that a question waits for the next key. */
const NEXT_KEY = 40;

export interface Hit {
  id: number;
  name: string;
  status: number;
  overflow: number;
}

export class HitList {
  total = $state(0);
  searching = $state(false);
  problem = $state('');
  /** Place of the hit that was gone to last, -1 before. */
  current = $state(-1);
  private pages = $state.raw(new Map<number, Hit[]>());
  private query: Params = {};
  private stop = new AbortController();

  constructor(private readonly store: Store) {}

  /** Begins with another question, unless yet another one comes soon; the returned function takes it back. */
  ask(query: Params): () => void {
    this.stop.abort();
    this.stop = new AbortController();
    this.query = query;
    const timer = setTimeout(() => void this.begin(), NEXT_KEY);
    return () => clearTimeout(timer);
  }

  at(place: number): Hit | undefined {
    return this.pages.get(Math.floor(place / PAGE))?.[place % PAGE];
  }

  /** Loads what of these rows is not there. */
  see(from: number, to: number): void {
    for (let page = Math.floor(from / PAGE); page * PAGE < Math.min(to, this.total); page += 1) {
      if (this.pages.has(page)) continue;
      this.pages.set(page, []);
      void this.load(page, this.stop.signal);
    }
  }

  private async begin(): Promise<void> {
    const { signal } = this.stop;
    this.searching = true;
    await this.load(0, signal, () => {
      this.pages = new Map();
      this.current = -1;
    });
    if (!signal.aborted) this.searching = false;
  }

  private async load(page: number, signal: AbortSignal, arrived: () => void = () => {}): Promise<void> {
    try {
      const hits = await this.store.client.get<Hits>('search', { ...this.query, from: page * PAGE, limit: PAGE }, signal);
      arrived();
      const list = hits.id.map((id, at) => ({ id, name: hits.name[at] ?? '', status: hits.status[at] ?? 0, overflow: hits.overflow[at] ?? 0 }));
      this.pages = new Map(this.pages).set(page, list);
      this.total = hits.total;
      this.problem = '';
    } catch (error) {
      if (!isAbort(error)) this.problem = asProblem(error).message;
    }
  }
}

/** The words of a search, as names are marked with them. */
export function wordsOf(text: string): string[] {
  return text.trim().toLowerCase().split(/\s+/).filter((word) => word !== '');
}
