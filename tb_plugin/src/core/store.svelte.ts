/**
 * The one store: what is looked at, what is known about it, and every way to change either.
 *
 * - *place* (`path`, `step`, `rank`, `micro`, `view`, `selected`, `filter`, what is open in `forest`) is what a link holds;
 * - *knowledge* (`info`, `summary`, `forest`, `details`) is what the server said about the place; it is dropped whenever the place
 *   changes under it, so that nothing stale stays on the screen;
 * - *preferences* (`prefs`) stay in the browser.
 *
 * Components read fields and call methods; nobody else talks to the server about the tree.
 */

import { isAbort, type Client } from './api';
import { Forest } from './forest.svelte';
import { text, type TextKey } from './i18n';
import { Matching } from './matching.svelte';
import { goTo } from './places';
import { Preferences } from './preferences.svelte';
import { asProblem, noFilter, type Filter, type PanelName, type Problem, type Selection } from './state';
import type { Colouring, FileInfo, Listing, Neighbour, NodeAnswer, SideName, Session, Summary, ViewName, WayAnswer } from './types';
import { decodeOpen, NOWHERE, readAddress, type Place } from './url';

export class Store {
  // --- place
  path = $state('');
  step = $state(0);
  rank = $state(0);
  micro = $state(-1);
  view = $state<ViewName>('graph');
  colouring = $state<Colouring>('verdict');
  selected = $state<Selection | null>(null);
  filter = $state<Filter>(noFilter());

  // --- knowledge
  listing = $state.raw<Listing | null>(null);
  listingProblem = $state.raw<Problem | null>(null);
  session = $state.raw<Session | null>(null);
  info = $state.raw<FileInfo | null>(null);
  summary = $state.raw<Summary | null>(null);
  details = $state.raw<NodeAnswer | null>(null);
  detailsProblem = $state.raw<Problem | null>(null);
  problem = $state.raw<Problem | null>(null);
  indexing = $state<number | null>(null);
  loading = $state(false);
  /** Questions to the server without an answer. */
  waiting = $state(0);
  /** Above zero while a journey of several stations is under way: only its end goes into the history. */
  moving = $state(0);
  notice = $state<{ text: string; bad: boolean } | null>(null);

  // --- what is open around the views
  panel = $state<PanelName>('find');
  helpOpen = $state(false);

  readonly prefs = new Preferences();
  readonly forest = new Forest(this);
  readonly matching = new Matching(this);
  private loads = new AbortController();
  private reads = new AbortController();

  constructor(readonly client: Client) {
    client.onIndexing = (done) => {
      this.indexing = done;
    };
    client.onWaiting = (questions) => {
      this.waiting = questions;
    };
  }

  /** A text in the chosen language. */
  t(key: TextKey, values: Record<string, string | number> = {}): string {
    return text(this.prefs.lang, key, values);
  }

  /** Ends when another file, step or rank is opened. */
  get signal(): AbortSignal {
    return this.loads.signal;
  }

  get compare(): boolean {
    return this.info?.compare ?? false;
  }

  get params(): { path: string; step: number; rank: number; micro: number } {
    return { path: this.path, step: this.step, rank: this.rank, micro: this.micro };
  }

  /** Runs a journey of several stations as one step of the history. */
  async travel<T>(journey: () => Promise<T>): Promise<T> {
    this.moving += 1;
    try {
      return await journey();
    } finally {
      this.moving -= 1;
    }
  }

  // ------------------------------------------------------------------ files and graphs

  /** Lists the files and opens what the address names, or the first readable file. */
  async begin(): Promise<void> {
    void this.client.post<Session>('session', {}).then(
      (session) => (this.session = session),
      () => (this.session = { token: '', view_only: true, logdir: '' }),
    );
    await Promise.all([this.list(), goTo(this, readAddress())]);
  }

  async list(): Promise<void> {
    try {
      this.listing = await this.client.get<Listing>('files');
      this.listingProblem = null;
    } catch (error) {
      this.listingProblem = asProblem(error);
    }
  }

  /** Opens a file at a place; without a path the first readable file below the log directory. */
  async openFile(path: string, place: Place = NOWHERE): Promise<void> {
    this.restart();
    this.path = path;
    this.info = null;
    this.selected = null;
    if (place === NOWHERE) this.filter = noFilter();
    await this.load(place, (info) => {
      this.path = info.path;
      this.info = info;
      if (!info.compare && this.view === 'diff') this.view = 'graph';
      const overflow = info.overflow_check && (!info.compare || place.colouring === 'overflow');
      this.colouring = overflow ? 'overflow' : 'verdict';
    });
  }

  /** Shows another step, rank or micro step; one step of the history. */
  async setGraph(step: number, rank: number, micro: number, open = ''): Promise<void> {
    await this.travel(async () => {
      const keep = this.selected;
      this.restart();
      this.selected = null;
      [this.step, this.rank, this.micro] = [step, rank, micro];
      await this.load({ ...NOWHERE, step, rank, micro, open });
      // Stay on the same node where the other rank or step has it too.
      if (keep) await this.selectByName(keep.side, keep.name, true);
    });
  }

  private restart(): void {
    this.loads.abort();
    this.loads = new AbortController();
    this.reads.abort();
    this.problem = null;
    this.summary = null;
    this.details = null;
    this.detailsProblem = null;
    this.indexing = null;
    this.forest.clear();
  }

  private async load(place: Place, known: (info: FileInfo) => void = () => {}): Promise<void> {
    const signal = this.signal;
    this.loading = true;
    try {
      const start = await this.client.start({ ...place, file: this.path }, signal);
      [this.step, this.rank, this.micro] = [start.step, start.rank, start.micro];
      known(start.file);
      void this.loadSummary(!start.roots.rolled, signal);
      await this.forest.plant(start.roots, start.children, decodeOpen(place.open));
    } catch (error) {
      this.fail(error);
    } finally {
      if (!signal.aborted) this.loading = false;
    }
  }

  private async loadSummary(refresh: boolean, signal: AbortSignal): Promise<void> {
    try {
      const { path, step, rank } = this.params;
      for (;;) {
        this.summary = await this.client.get<Summary>('summary', { path, step, rank }, signal);
        if (refresh) await this.forest.refresh();
        refresh = false;
        if (this.summary.difference_known) return;
        await new Promise((resolve) => setTimeout(resolve, 700));
        if (signal.aborted) return;
      }
    } catch (error) {
      if (!isAbort(error)) this.tell(asProblem(error).message, true);
    }
  }

  /** Asks again for all that a change of the file may have changed; what is open stays open. */
  async refresh(): Promise<void> {
    await Promise.all([this.forest.refresh(), this.loadDetails()]);
    // What lies below and the first difference are worked out anew, which takes its time in a large file.
    void this.loadSummary(true, this.signal);
  }

  // ------------------------------------------------------------------ selection

  /** Selects a node that is on the screen. */
  select(side: SideName, node: { id: number; name: string }): void {
    this.selected = { side, id: node.id, name: node.name };
    void this.loadDetails();
  }

  /** Selects a node anywhere in this step and rank, opens the way to it on both sides. */
  async jump(side: SideName, id: number, name = ''): Promise<void> {
    this.selected = { side, id, name };
    const details = this.loadDetails();
    const way = await this.forest.reveal(side, id);
    if (way && this.selected?.id === id) this.selected = { side, id, name: way.name };
    await details;
  }

  async selectByName(side: SideName, name: string, quiet = false): Promise<void> {
    try {
      const way = await this.client.get<WayAnswer>('way', { ...this.params, side, name }, this.signal);
      const id = way.own.ids.at(-1);
      if (id !== undefined) await this.jump(side, id, name);
    } catch (error) {
      if (!isAbort(error) && !quiet) this.tell(asProblem(error).message, true);
    }
  }

  clearSelection(): void {
    this.selected = null;
    this.details = null;
    this.detailsProblem = null;
  }

  async loadDetails(): Promise<void> {
    const chosen = this.selected;
    if (!chosen) return;
    this.reads.abort();
    this.reads = new AbortController();
    try {
      this.details = await this.client.get<NodeAnswer>('node', { path: this.path, id: chosen.id }, this.reads.signal);
      this.detailsProblem = null;
      this.forest.prepare(chosen.side, chosen.id);
    } catch (error) {
      if (isAbort(error)) return;
      this.details = null;
      this.detailsProblem = asProblem(error);
    }
  }

  /** Goes to the next or previous node that differs, in execution order. */
  async stepDifference(forward: boolean): Promise<void> {
    const overflow = this.colouring === 'overflow';
    const which = overflow ? { overflow: 'medium,high,critical' } : { status: 'warning,error,unmatched' };
    await this.stepTo({ ...which, side: 'target' }, forward);
  }

  async stepTo(filter: Record<string, string | boolean>, forward: boolean): Promise<Neighbour | null> {
    const from = this.selected ? { [forward ? 'after' : 'before']: this.selected.id } : forward ? {} : { before: -1 };
    try {
      const found = await this.client.get<Neighbour>('step', { ...this.params, ...filter, ...from }, this.signal);
      const id = found.hit?.id[0];
      if (id === undefined) {
        this.tell(this.t(forward ? 'noNext' : 'noPrevious'));
        return found;
      }
      await this.jump((filter.side as SideName | undefined) ?? 'target', id, found.hit?.name[0] ?? '');
      return found;
    } catch (error) {
      if (!isAbort(error)) this.tell(asProblem(error).message, true);
      return null;
    }
  }

  // ------------------------------------------------------------------ messages

  tell(text: string, bad = false): void {
    this.notice = { text, bad };
  }

  private fail(error: unknown): void {
    if (isAbort(error)) return;
    const problem = asProblem(error);
    // A log directory without a file is no problem; the page says what to do.
    if (problem.code !== 'no_files') this.problem = problem;
  }
}
