/** Matching by hand: which two nodes are meant, what can be done with the file, and doing it. */

import { isAbort } from './api';
import { asProblem } from './state';
import type { Store } from './store.svelte';
import type { EditDone, MatchState, SideName } from './types';

type Action =
  | { match: { target: string; golden: string; descendants: boolean } }
  | { unmatch: { target: string; golden: string; descendants: boolean } }
  | { import: { config: string } }
  | 'undo'
  | 'export';

export class Matching {
  /** Names of the two nodes that the buttons act on; empty while none is chosen. */
  target = $state('');
  golden = $state('');
  /** Whether the two face each other now. */
  paired = $state(false);
  descendants = $state(false);
  busy = $state(false);
  state = $state.raw<MatchState | null>(null);
  /** What the last change did, and entries it could not apply. */
  done = $state.raw<EditDone | null>(null);
  problem = $state('');

  constructor(private readonly store: Store) {}

  /** Why nothing can be changed; empty if it can. */
  get refused(): string {
    if (this.store.session?.view_only) return this.store.t('viewOnly');
    return this.state?.refused ?? '';
  }

  clear(): void {
    this.target = '';
    this.golden = '';
    this.paired = false;
    this.state = null;
    this.done = null;
    this.problem = '';
  }

  /** A node that was clicked fills the place of its side; one that has a counterpart fills both. */
  take(side: SideName, name: string, other: string): void {
    if (other !== '') {
      [this.target, this.golden] = side === 'target' ? [name, other] : [other, name];
      this.paired = true;
      return;
    }
    if (this.paired) [this.target, this.golden] = ['', ''];
    this[side] = name;
    this.paired = false;
  }

  async load(): Promise<void> {
    const { path, step, rank } = this.store.params;
    try {
      const state = await this.store.client.get<MatchState>('matches', { path, step, rank });
      if (path === this.store.path) this.state = state;
    } catch (error) {
      if (!isAbort(error)) this.problem = asProblem(error).message;
    }
  }

  pair(): Promise<void> {
    return this.apply({ match: { target: this.target, golden: this.golden, descendants: this.descendants } });
  }

  part(): Promise<void> {
    return this.apply({ unmatch: { target: this.target, golden: this.golden, descendants: this.descendants } });
  }

  async apply(action: Action): Promise<void> {
    const { path, step, rank } = this.store.params;
    this.busy = true;
    this.problem = '';
    this.done = null;
    try {
      this.done = await this.store.client.post<EditDone>('edit', { path, step, rank, action });
      if (typeof action === 'object' && 'match' in action) this.paired = true;
      if (typeof action === 'object' && 'unmatch' in action) this.paired = false;
      if (path !== this.store.path) return;
      if (action !== 'export') await this.store.refresh();
      await this.load();
    } catch (error) {
      this.problem = asProblem(error).message;
    } finally {
      this.busy = false;
    }
  }
}
