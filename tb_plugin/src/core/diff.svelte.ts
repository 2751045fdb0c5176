/** The diff view's outline: what is loaded and open of it, and every way to load or open more. */

import { isAbort } from './api';
import { flatten, merged, pairKey, pairRows, rootRow, type Loaded, type PairRow } from './outline';
import { asProblem } from './state';
import type { Store } from './store.svelte';
import type { PairsAnswer, WayAnswer } from './types';

/** Rows of one page. */
const PAGE = 1000;
/** Rows of a page on the way to a row. */
const ON_THE_WAY = 200;
/** Rows whose children are asked for at once; an address has no room for more. */
const PARENTS = 2000;

export class DiffOutline {
  hide = $state(false);
  sort = $state<'order' | 'worst'>('order');
  root = $state.raw<PairRow | null>(null);
  /** Row that shall come into sight. */
  wanted = $state('');
  private readonly loaded = new Map<string, Loaded>();
  private readonly open = new Set<string>();
  private revision = $state(0);
  /** What the open rows are of. */
  private graph = '';
  private turn = new AbortController();

  readonly rows = $derived.by(() => {
    void this.revision;
    return this.root ? flatten(this.root, this.open, this.loaded) : [];
  });
  readonly hidden = $derived.by(() => {
    void this.revision;
    let sum = 0;
    for (const key of this.open) sum += this.loaded.get(key)?.hidden ?? 0;
    return sum;
  });

  constructor(private readonly store: Store) {}

  isOpen(row: PairRow): boolean {
    void this.revision;
    return this.open.has(row.key);
  }

  /** Begins again from the roots; in the same graph the rows stay open that were. */
  async begin(): Promise<void> {
    this.turn.abort();
    this.turn = new AbortController();
    const { forest, path, step, rank } = this.store;
    const graph = JSON.stringify([path, step, rank]);
    if (graph !== this.graph) this.open.clear();
    this.graph = graph;
    this.loaded.clear();
    this.root = forest.target.root || forest.golden.root ? rootRow(forest.target.root, forest.golden.root) : null;
    if (this.root) this.open.add(this.root.key);
    this.revision += 1;
    await this.load([...this.open]);
  }

  private get signal(): AbortSignal {
    return AbortSignal.any([this.store.signal, this.turn.signal]);
  }

  private ask(pairs: string[], more: Record<string, string | number | boolean>): Promise<PairsAnswer> {
    const { path, micro } = this.store;
    const query = { path, micro, hide: this.hide, sort: this.sort, pairs: pairs.join(','), ...more };
    return this.store.client.get<PairsAnswer>('pairs', query, this.signal);
  }

  private take(pairs: string[], answer: PairsAnswer): void {
    pairs.slice(0, answer.answered).forEach((pair, page) => {
      this.loaded.set(pair, merged(this.loaded.get(pair), pairRows(answer, page), answer.total[page] ?? 0, answer.hidden[page] ?? 0));
    });
  }

  /** Loads a page below each of some rows. */
  private async load(pairs: string[], from = 0, limit = PAGE): Promise<void> {
    try {
      for (let at = 0; at < pairs.length; ) {
        const asked = pairs.slice(at, at + PARENTS);
        const answer = await this.ask(asked, { from, limit });
        this.take(asked, answer);
        at += Math.max(1, answer.answered);
      }
      this.revision += 1;
    } catch (error) {
      this.fail(error);
    }
  }

  /** Loads what a row for rows that are not there stands for. */
  async fill(gap: PairRow): Promise<void> {
    if (gap.more) await this.load([gap.more.key], gap.place, Math.min(PAGE, gap.kids));
  }

  async setOpen(row: PairRow, on: boolean): Promise<void> {
    if (on && row.kids > 0 && !this.loaded.has(row.key)) await this.load([row.key]);
    if (on) this.open.add(row.key);
    else this.open.delete(row.key);
    this.revision += 1;
  }

  /** Opens the way to a node, however deep it lies, and brings its row into sight. */
  async reveal(id: number): Promise<void> {
    const here = this.rows.find((row) => row.target.id === id || row.golden.id === id);
    if (here) {
      this.wanted = here.key;
      return;
    }
    try {
      const { path, micro } = this.store;
      const way = await this.store.client.get<WayAnswer>('way', { path, id, micro, rows: true }, this.signal);
      const ids = way.rows ?? [];
      const pairs = Array.from({ length: ids.length / 2 }, (_, at) => pairKey(ids[at * 2] ?? 0, ids[at * 2 + 1] ?? 0));
      await this.walk(pairs);
      this.wanted = pairs.at(-1) ?? '';
    } catch (error) {
      this.fail(error);
    }
  }

  private async walk(pairs: string[]): Promise<void> {
    for (let at = 0; at + 1 < pairs.length; at += 1) {
      const [above, below] = [pairs[at] as string, pairs[at + 1] as string];
      if (!this.has(above, below)) {
        const asked = pairs.slice(at, at + PARENTS);
        this.take(asked, await this.ask(asked, { limit: ON_THE_WAY, lead: true }));
        // Hidden, because all in it agrees.
        if (!this.has(above, below)) break;
      }
      this.open.add(above);
    }
    this.revision += 1;
  }

  private has(above: string, below: string): boolean {
    return this.loaded.get(above)?.rows.some((row) => row.key === below) ?? false;
  }

  private fail(error: unknown): void {
    if (!isAbort(error)) this.store.tell(asProblem(error).message, true);
  }
}
