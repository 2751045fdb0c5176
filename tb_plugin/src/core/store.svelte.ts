/**
 * The one store: what is looked at, what is known about it, and every way to change either.
 *
 * - *place* (`path`, `step`, `rank`, `micro`, `view`, `selected`, `filter`, open sets) is what a link holds;
 * - *knowledge* (`info`, `summary`, `trees`, `details`) is what the server said about the place; it is dropped whenever the place
 *   changes under it, so that nothing stale stays on the screen;
 * - *preferences* (`lang`, `theme`, `sizes`, `wheelZooms`, `syncOpen`, `lockPanes`) stay in the browser.
 *
 * Components read fields and call methods; nobody else talks to the server about the tree.
 */

import { isAbort, type Client } from './api';
import { pickLanguage, text, type Language, type TextKey } from './i18n';
import { Matching } from './matching.svelte';
import { asProblem, recall, type Filter, type PanelName, type Problem, type Selection, type ThemeName } from './state';
import { Tree, type TreeNode } from './tree';
import type {
  ChildTable,
  Colouring,
  FileInfo,
  Listing,
  Neighbour,
  NodeAnswer,
  Roots,
  SideName,
  Session,
  Summary,
  ViewName,
  Way,
  WayAnswer,
} from './types';
import { decodeOpen, encodeOpen, NOWHERE, readAddress, type Place } from './url';

/** Children asked for when a node is opened. */
const PAGE = 5000;
/** Children asked for around a node that is far down a long list. */
const AROUND = 500;

export const other = (side: SideName): SideName => (side === 'target' ? 'golden' : 'target');

export class Store {
  // --- place
  path = $state('');
  step = $state(0);
  rank = $state(0);
  micro = $state(-1);
  view = $state<ViewName>('graph');
  colouring = $state<Colouring>('verdict');
  selected = $state<Selection | null>(null);
  filter = $state<Filter>({ q: '', side: 'target', status: [], overflow: [], kind: [], leaves: false, sort: 'order' });

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
  /** Grows with every change of a tree; drawing depends on it. */
  revision = $state(0);
  /** Ask a pane to bring a node into view; `turn` makes equal requests differ. */
  focus = $state<{ target: number; golden: number; turn: number }>({ target: 0, golden: 0, turn: 0 });
  notice = $state<{ text: string; bad: boolean } | null>(null);

  // --- preferences
  lang = $state<Language>(pickLanguage());
  theme = $state<ThemeName>(recall('theme', 'auto') as ThemeName);
  panel = $state<PanelName>('find');
  syncOpen = $state(recall('sync', '1') === '1');
  lockPanes = $state(recall('lock', '0') === '1');
  wheelZooms = $state(recall('wheel', '0') === '1');
  showMap = $state(recall('map', '1') === '1');
  helpOpen = $state(false);
  detailsHeight = $state(Number(recall('details', '300')));
  panelWidth = $state(Number(recall('panel', '300')));

  readonly trees: Record<SideName, Tree> = { target: new Tree('target'), golden: new Tree('golden') };
  readonly matching = new Matching(this);
  private loads = new AbortController();
  private reads = new AbortController();
  private inFlight = new Set<string>();

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
    return text(this.lang, key, values);
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
    const place = readAddress();
    if (place.file !== '') await Promise.all([this.list(), this.goTo(place)]);
    else {
      await this.list();
      const first = this.listing?.files.find((file) => file.state === 'ok');
      if (first) await this.openFile(first.path);
    }
  }

  async list(): Promise<void> {
    try {
      this.listing = await this.client.get<Listing>('files');
      this.listingProblem = null;
    } catch (error) {
      this.listingProblem = asProblem(error);
    }
  }

  async openFile(path: string, place: Place = NOWHERE): Promise<void> {
    this.restart();
    this.path = path;
    this.info = null;
    this.selected = null;
    if (place === NOWHERE) this.filter = { q: '', side: 'target', status: [], overflow: [], kind: [], leaves: false, sort: 'order' };
    try {
      const info = await this.client.get<FileInfo>('file', { path }, this.loads.signal);
      this.info = info;
      const known = (step: number, rank: number): boolean => info.graphs.some(([s, r]) => s === step && r === rank);
      const first = info.graphs[0] ?? [0, 0];
      const asked = place.step !== null && place.rank !== null && known(place.step, place.rank);
      this.step = asked ? (place.step as number) : first[0];
      this.rank = asked ? (place.rank as number) : first[1];
      this.micro = place.micro >= 0 && place.micro < info.micro_steps ? place.micro : -1;
      if (!info.compare && this.view === 'diff') this.view = 'graph';
      const overflow = info.overflow_check && (!info.compare || place.colouring === 'overflow');
      this.colouring = overflow ? 'overflow' : 'verdict';
      await this.loadGraph(decodeOpen(place.open));
    } catch (error) {
      this.fail(error);
    }
  }

  async setGraph(step: number, rank: number, micro: number): Promise<void> {
    const keep = this.selected;
    this.restart();
    this.step = step;
    this.rank = rank;
    this.micro = micro;
    this.selected = null;
    await this.loadGraph([]);
    // Stay on the same node where the other rank or step has it too.
    if (keep) await this.selectByName(keep.side, keep.name, true);
  }

  private restart(): void {
    this.loads.abort();
    this.loads = new AbortController();
    this.reads.abort();
    this.inFlight.clear();
    this.problem = null;
    this.summary = null;
    this.details = null;
    this.detailsProblem = null;
    this.indexing = null;
    this.trees.target.reset(null);
    this.trees.golden.reset(null);
    this.changed();
  }

  private async loadGraph(open: number[]): Promise<void> {
    const signal = this.loads.signal;
    this.loading = true;
    try {
      const { path, step, rank } = this.params;
      const roots = await this.client.get<Roots>('roots', { path, step, rank }, signal);
      const openRoot = async (side: SideName): Promise<void> => {
        const tree = this.trees[side];
        tree.reset(roots[side]);
        if (tree.root) await this.setOpen(side, tree.root, true);
      };
      await Promise.all([openRoot('target'), openRoot('golden')]);
      this.changed();
      void this.loadSummary(!roots.rolled, signal);
      await this.openAll(open);
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
        if (refresh) await this.refreshNodes();
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
    await Promise.all([this.refreshNodes(), this.loadDetails()]);
    // What lies below and the first difference are worked out anew, which takes its time in a large file.
    void this.loadSummary(true, this.loads.signal);
  }

  /** Asks again for everything that is loaded, after what lies below became known or a match changed. */
  async refreshNodes(): Promise<void> {
    const { path, step, rank } = this.params;
    const roots = await this.client.get<Roots>('roots', { path, step, rank }, this.loads.signal);
    for (const side of ['target', 'golden'] as const) {
      const tree = this.trees[side];
      const fresh = roots[side];
      if (tree.root && fresh) {
        Object.assign(tree.root, {
          status: fresh.status[0],
          worst: fresh.worst[0],
          flood: fresh.flood[0],
          below: fresh.below.slice(0, 3),
          pair: fresh.pair[0],
        });
      }
      const loaded = [...tree.byId.values()].filter((node) => node.children.length > 0);
      for (let at = 0; at < loaded.length; at += 600) {
        await this.fetchChildren(side, loaded.slice(at, at + 600).map((node) => node.id), 0, PAGE);
      }
    }
    this.changed();
  }

  // ------------------------------------------------------------------ trees

  private changed(): void {
    this.revision += 1;
  }

  private async fetchChildren(side: SideName, ids: number[], from: number, limit: number): Promise<void> {
    let left = ids;
    while (left.length > 0) {
      const answer = await this.client.get<{ tables: ChildTable[]; answered: number }>(
        'children',
        { path: this.path, ids: left.slice(0, 600).join(','), from, limit, micro: this.micro },
        this.loads.signal,
      );
      for (const table of answer.tables) this.trees[side].take(table);
      left = left.slice(Math.max(1, answer.answered));
    }
    this.changed();
  }

  /** Opens or closes a node; its counterpart follows when panes are in step. */
  async toggle(side: SideName, node: TreeNode): Promise<void> {
    const open = !this.trees[side].isOpen(node);
    const follows = this.syncOpen && this.compare && node.pair !== 0;
    const twin = follows ? this.trees[other(side)].byId.get(node.pair) : undefined;
    await Promise.all([this.setOpen(side, node, open), twin ? this.setOpen(other(side), twin, open) : null]);
    if (follows && !twin && open) {
      await this.reveal(other(side), node.pair, false);
      const found = this.trees[other(side)].byId.get(node.pair);
      if (found) await this.setOpen(other(side), found, true);
    }
  }

  async setOpen(side: SideName, node: TreeNode, open: boolean): Promise<void> {
    const tree = this.trees[side];
    if (open && node.kids > 0 && node.children.length === 0) await this.load(side, node, 0, PAGE);
    tree.setOpen(node, open);
    this.changed();
  }

  /** Loads a page of children that is not there yet; the same page is asked for once. */
  async load(side: SideName, node: TreeNode, from: number, limit = PAGE): Promise<void> {
    const key = `${node.id}/${from}`;
    if (this.inFlight.has(key)) return;
    this.inFlight.add(key);
    try {
      await this.fetchChildren(side, [node.id], from, limit);
    } catch (error) {
      if (!isAbort(error)) this.tell(asProblem(error).message, true);
    } finally {
      this.inFlight.delete(key);
    }
  }

  private async openAll(ids: number[]): Promise<void> {
    // A link's open nodes come parents first or not at all: repeat until no round gets on.
    let left = ids;
    while (left.length > 0) {
      const ready = left.filter((id) => this.trees.target.byId.has(id) || this.trees.golden.byId.has(id));
      if (ready.length === 0) return;
      for (const side of ['target', 'golden'] as const) {
        const tree = this.trees[side];
        const nodes = ready.map((id) => tree.byId.get(id)).filter((node) => node !== undefined);
        await this.fetchChildren(side, nodes.filter((node) => node.children.length === 0 && node.kids > 0).map((node) => node.id), 0, PAGE);
        for (const node of nodes) tree.setOpen(node, true);
      }
      left = left.filter((id) => !ready.includes(id));
    }
    this.changed();
  }

  /** Opens the way to a node on its side, and brings it into view. */
  private async walk(side: SideName, way: Way): Promise<void> {
    const tree = this.trees[side];
    const missing: number[] = [];
    for (let at = 1; at < way.ids.length; at += 1) {
      if (!tree.byId.has(way.ids[at] as number) && (way.places[at] as number) < AROUND) missing.push(way.ids[at - 1] as number);
    }
    if (missing.length > 0) await this.fetchChildren(side, missing, 0, PAGE);
    for (let at = 1; at < way.ids.length; at += 1) {
      const parent = tree.byId.get(way.ids[at - 1] as number);
      if (!parent) return;
      if (!tree.byId.has(way.ids[at] as number)) {
        await this.fetchChildren(side, [parent.id], Math.max(0, (way.places[at] as number) - AROUND / 2), AROUND);
      }
      tree.setOpen(parent, true);
    }
    this.changed();
  }

  /** Opens the way to a node; both panes follow. */
  async reveal(side: SideName, id: number, exactOnly = false): Promise<WayAnswer | null> {
    try {
      const way = await this.client.get<WayAnswer>('way', { path: this.path, id, micro: this.micro }, this.loads.signal);
      await this.walk(side, way.own);
      if (this.compare && way.other.ids.length > 0 && (way.exact || !exactOnly)) await this.walk(other(side), way.other);
      this.focus = {
        ...this.focus,
        [side]: id,
        [other(side)]: way.other.ids.at(-1) ?? 0,
        turn: this.focus.turn + 1,
      };
      return way;
    } catch (error) {
      if (!isAbort(error)) this.tell(asProblem(error).message, true);
      return null;
    }
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
    const way = await this.reveal(side, id);
    if (way && this.selected?.id === id) this.selected = { side, id, name: way.own.names.at(-1) ?? name };
    await details;
  }

  async selectByName(side: SideName, name: string, quiet = false): Promise<void> {
    try {
      const way = await this.client.get<WayAnswer>('way', { ...this.params, side, name }, this.loads.signal);
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
      const found = await this.client.get<Neighbour>('step', { ...this.params, ...filter, ...from }, this.loads.signal);
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

  // ------------------------------------------------------------------ links and messages

  get here(): Place {
    const open = [...this.trees.target.open, ...this.trees.golden.open];
    return {
      file: this.path,
      step: this.info ? this.step : null,
      rank: this.info ? this.rank : null,
      micro: this.micro,
      view: this.view,
      side: this.selected?.side ?? 'target',
      node: this.selected?.name ?? '',
      colouring: this.colouring,
      q: this.filter.q,
      status: this.filter.status.join('.'),
      overflow: this.filter.overflow.join('.'),
      open: encodeOpen(open),
    };
  }

  async goTo(place: Place): Promise<void> {
    await this.travel(() => this.goThere(place));
  }

  private async goThere(place: Place): Promise<void> {
    this.view = (['graph', 'diff', 'overview', 'convert'].includes(place.view) ? place.view : 'graph') as ViewName;
    this.filter.q = place.q;
    this.filter.status = place.status ? place.status.split('.') : [];
    this.filter.overflow = place.overflow ? place.overflow.split('.') : [];
    const side: SideName = place.side === 'golden' ? 'golden' : 'target';
    if (place.file !== this.path || !this.info) await this.openFile(place.file, place);
    else if (place.step !== this.step || place.rank !== this.rank || place.micro !== this.micro) {
      this.clearSelection();
      await this.setGraph(place.step ?? this.step, place.rank ?? this.rank, place.micro);
    }
    if (place.node !== '' && place.node !== this.selected?.name) await this.selectByName(side, place.node);
    else if (place.node === '') this.clearSelection();
  }

  tell(text: string, bad = false): void {
    this.notice = { text, bad };
  }

  private fail(error: unknown): void {
    if (!isAbort(error)) this.problem = asProblem(error);
  }

  keep(name: string, value: string): void {
    try {
      localStorage.setItem(`msprobe.${name}`, value);
    } catch {
      // Private windows may refuse; the preference then lasts as long as the page.
    }
  }
}
