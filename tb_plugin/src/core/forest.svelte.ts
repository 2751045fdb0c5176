/**
 * Both trees of a step and rank as far as they are loaded, and everything that loads or opens a part of them.
 *
 * Whatever a person does is one question to the server (a few when megabytes come back): opening a node, the way to a node however
 * deep it lies, a link with everything that is open in it.
 */

import { isAbort } from './api';
import { asProblem } from './state';
import type { Store } from './store.svelte';
import { pagesOf, Tree, type Page, type TreeNode } from './tree';
import type { Children, Roots, SideName, Way, WayAnswer } from './types';

/** Children asked for when a node is opened. */
const PAGE = 5000;
/** Children asked for around a node that is far down a long list. */
const AROUND = 500;
/** Nodes whose children are asked for at once; an address has no room for more. */
const PARENTS = 2500;

const SIDES = ['target', 'golden'] as const;

export const other = (side: SideName): SideName => (side === 'target' ? 'golden' : 'target');

export class Forest {
  readonly target = new Tree('target');
  readonly golden = new Tree('golden');
  /** Grows with every change of a tree; drawing depends on it. */
  revision = $state(0);
  /** Ask a pane to bring a node into view; `turn` makes equal requests differ. */
  focus = $state<{ target: number; golden: number; turn: number }>({ target: 0, golden: 0, turn: 0 });
  private readonly inFlight = new Map<string, Promise<void>>();

  constructor(private readonly store: Store) {}

  /** Forgets everything. */
  clear(): void {
    this.inFlight.clear();
    for (const side of SIDES) this[side].reset(null);
    this.revision += 1;
  }

  /** Begins with the roots, their children, and the nodes that a link has open. */
  async plant(roots: Roots, children: Children, open: number[]): Promise<void> {
    for (const side of SIDES) {
      const tree = this[side];
      tree.reset(roots[side]);
      if (tree.root) tree.setOpen(tree.root, true);
    }
    const pages = pagesOf(children);
    this.take(pages);
    const answered = new Set(children.parent);
    this.openKnown(open.filter((id) => answered.has(id)));
    this.revision += 1;
    // What did not fit is asked for while the rest can be seen already.
    const left = open.filter((id) => !answered.has(id) && SIDES.some((side) => this[side].byId.has(id)));
    if (left.length === 0) return;
    this.take(await this.ask(left, 0, PAGE));
    this.openKnown(left);
    this.revision += 1;
  }

  private openKnown(ids: number[]): void {
    for (const id of ids) {
      for (const side of SIDES) {
        const node = this[side].byId.get(id);
        if (node) this[side].setOpen(node, true);
      }
    }
  }

  /** Asks again for everything that is loaded, after what lies below became known or a match changed. */
  async refresh(): Promise<void> {
    const { path, step, rank } = this.store.params;
    const roots = await this.store.client.get<Roots>('roots', { path, step, rank }, this.store.signal);
    const loaded: number[] = [];
    for (const side of SIDES) {
      const fresh = roots[side];
      if (fresh) this[side].renew(fresh);
      for (const node of this[side].byId.values()) if (node.children.length > 0) loaded.push(node.id);
    }
    this.take(await this.ask(loaded, 0, PAGE));
    this.revision += 1;
  }

  /** Pages of children of nodes, in the order of `ids`. */
  private async ask(ids: number[], from: number, limit: number): Promise<Page[]> {
    const pages: Page[] = [];
    let at = 0;
    while (at < ids.length) {
      const children = await this.store.client.get<Children>(
        'children',
        { path: this.store.path, ids: ids.slice(at, at + PARENTS).join(','), from, limit, micro: this.store.micro },
        this.store.signal,
      );
      pages.push(...pagesOf(children));
      at += Math.max(1, children.answered);
    }
    return pages;
  }

  /** Takes in pages, whatever their order: a page whose parent is in another one waits for it. */
  private take(pages: Page[]): void {
    let left = pages;
    for (;;) {
      const waiting = left.filter((page) => !SIDES.some((side) => this[side].take(page)));
      if (waiting.length === 0 || waiting.length === left.length) return;
      left = waiting;
    }
  }

  /** Opens or closes a node; its counterpart follows when panes are in step. */
  async toggle(side: SideName, node: TreeNode): Promise<void> {
    const open = !this[side].isOpen(node);
    const follows = this.store.prefs.syncOpen && this.store.compare && node.pair !== 0;
    const twin = follows ? this[other(side)].byId.get(node.pair) : undefined;
    if (twin) {
      await this.setOpen([node, twin], open);
      return;
    }
    await this.setOpen([node], open);
    if (follows && open) {
      await this.reveal(other(side), node.pair, false);
      const found = this[other(side)].byId.get(node.pair);
      if (found) await this.setOpen([found], true);
    }
  }

  /** Opens or closes nodes of either side. */
  async setOpen(nodes: TreeNode[], open: boolean): Promise<void> {
    const missing = open ? nodes.filter((node) => node.kids > 0 && node.children.length === 0).map((node) => node.id) : [];
    // Two of them are two answers, as both of thousands of children would not fit into one.
    if (missing.length <= 2) await Promise.all(missing.map((id) => this.load([id], 0)));
    else await this.load(missing, 0);
    for (const node of nodes) {
      const side = SIDES.find((one) => this[one].byId.get(node.id) === node);
      if (side) this[side].setOpen(node, open);
    }
    this.revision += 1;
  }

  /** Asks for the children of a chosen node and of its counterpart: it is likely to be opened next. */
  prepare(side: SideName, id: number): void {
    const node = this[side].byId.get(id);
    const twin = node && this.store.prefs.syncOpen ? this[other(side)].byId.get(node.pair) : undefined;
    for (const one of [node, twin]) if (one && one.kids > 0 && one.children.length === 0) void this.load([one.id], 0);
  }

  /** Loads a page of children that is not there yet; the same page is asked for once. */
  load(ids: number[], from: number, limit = PAGE): Promise<void> {
    const key = `${ids.join(',')}/${from}`;
    const known = this.inFlight.get(key);
    if (known) return known;
    const loading = this.fetch(ids, from, limit).finally(() => {
      if (this.inFlight.get(key) === loading) this.inFlight.delete(key);
    });
    this.inFlight.set(key, loading);
    return loading;
  }

  private async fetch(ids: number[], from: number, limit: number): Promise<void> {
    try {
      this.take(await this.ask(ids, from, limit));
      // Children that come before their parent opens are drawn when it does.
      if (SIDES.some((side) => ids.some((id) => this[side].open.has(id)))) this.revision += 1;
    } catch (error) {
      if (!isAbort(error)) this.store.tell(asProblem(error).message, true);
    }
  }

  /** Pages that the way to a node needs and that are not there. */
  private async pagesFor(side: SideName, way: Way): Promise<Page[]> {
    const near: number[] = [];
    const far: Promise<Page[]>[] = [];
    for (let at = 1; at < way.ids.length; at += 1) {
      if (this[side].byId.has(way.ids[at] as number)) continue;
      const parent = way.ids[at - 1] as number;
      const place = way.places[at] as number;
      if (place < AROUND) near.push(parent);
      else far.push(this.ask([parent], place - AROUND / 2, AROUND));
    }
    const pages = await Promise.all([near.length > 0 ? this.ask(near, 0, PAGE) : [], ...far]);
    return pages.flat();
  }

  /** Opens the way to a node; both panes follow. */
  async reveal(side: SideName, id: number, exactOnly = false): Promise<WayAnswer | null> {
    try {
      const { path, micro } = this.store;
      const way = await this.store.client.get<WayAnswer>('way', { path, id, micro }, this.store.signal);
      const both = this.store.compare && way.other.ids.length > 0 && (way.exact || !exactOnly);
      const ways: [SideName, Way][] = both ? [[side, way.own], [other(side), way.other]] : [[side, way.own]];
      const pages = await Promise.all(ways.map(([one, its]) => this.pagesFor(one, its)));
      this.take(pages.flat());
      for (const [one, its] of ways) {
        for (const parent of its.ids.slice(0, -1)) {
          const node = this[one].byId.get(parent);
          if (node) this[one].setOpen(node, true);
        }
      }
      this.focus = { ...this.focus, [side]: id, [other(side)]: way.other.ids.at(-1) ?? 0, turn: this.focus.turn + 1 };
      this.revision += 1;
      return way;
    } catch (error) {
      if (!isAbort(error)) this.store.tell(asProblem(error).message, true);
      return null;
    }
  }
}
