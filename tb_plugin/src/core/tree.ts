/** One side's tree as far as it has been loaded. Children may be loaded in pieces; what misses is a gap. */

import { label, textWidth } from './names';
import type { Children, NodeTable, SideName } from './types';

const NOTHING = [0, 0, 0] as const;

/** A node of one shape, whatever is known of it: thousands of them come at once. */
export class TreeNode {
  readonly id: number;
  readonly name: string;
  readonly label: string;
  /** Units that the label takes, measured once. */
  readonly labelWidth: number;
  readonly kind: number;
  readonly kids: number;
  readonly micro: number;
  readonly parent: TreeNode | null;
  /** Place among the siblings. */
  readonly place: number;
  readonly depth: number;
  status = 0;
  overflow = 0;
  pair = 0;
  edited = false;
  worst = 0;
  flood = 0;
  /** Warnings, errors, unmatched below. */
  below: readonly [number, number, number] = NOTHING;
  /** Loaded children by place, ascending. */
  children: TreeNode[] = [];
  /** Number of children within the chosen micro step; known after the first load. */
  total: number;

  constructor(table: NodeTable, at: number, parent: TreeNode | null, place: number) {
    this.id = table.id[at] ?? 0;
    this.name = table.name[at] ?? '';
    this.kind = table.kind[at] ?? 0;
    this.kids = table.kids[at] ?? 0;
    this.micro = table.micro[at] ?? 0;
    this.parent = parent;
    this.place = place;
    this.depth = parent ? parent.depth + 1 : 0;
    this.label = label(this.name, this.kind, this.depth < 2);
    this.labelWidth = textWidth(this.label);
    this.total = this.kids;
  }
}

/** Some children of one node, next to each other, as rows of a table. */
export interface Page {
  parent: number;
  from: number;
  total: number;
  nodes: NodeTable;
  /** The page's first row, and how many rows it has. */
  first: number;
  count: number;
}

/** The pages of an answer. */
export function pagesOf(children: Children): Page[] {
  let first = 0;
  return children.parent.map((parent, at) => {
    const count = children.count[at] ?? 0;
    const page = { parent, from: children.from[at] ?? 0, total: children.total[at] ?? 0, nodes: children.nodes, first, count };
    first += count;
    return page;
  });
}

export class Tree {
  root: TreeNode | null = null;
  readonly byId = new Map<number, TreeNode>();
  /** Ids of opened nodes; kept when an ancestor is closed, so that re-opening shows the same. */
  readonly open = new Set<number>();
  /** Grows with every change that moves boxes or changes what they show. */
  revision = 0;

  constructor(readonly side: SideName) {}

  reset(table: NodeTable | null): void {
    this.byId.clear();
    this.open.clear();
    this.root = table && table.id.length > 0 ? this.add(table, 0, null, 0) : null;
    this.revision += 1;
  }

  /** Takes in a page of children; loaded nodes keep their identity and get fresh facts. False if the parent is not there. */
  take(page: Page): boolean {
    const parent = this.byId.get(page.parent);
    if (!parent) return false;
    parent.total = page.total;
    const fresh: TreeNode[] = [];
    for (let at = 0; at < page.count; at += 1) fresh.push(this.add(page.nodes, page.first + at, parent, page.from + at));
    const end = page.from + fresh.length;
    const before = parent.children.filter((child) => child.place < page.from);
    const after = parent.children.filter((child) => child.place >= end);
    parent.children = before.concat(fresh, after);
    // Nothing moves while they cannot be seen.
    if (this.isOpen(parent)) this.revision += 1;
    return true;
  }

  isOpen(node: TreeNode): boolean {
    return this.open.has(node.id);
  }

  setOpen(node: TreeNode, open: boolean): void {
    if (node.kids === 0 || (node === this.root && !open)) return;
    if (open) this.open.add(node.id);
    else this.open.delete(node.id);
    this.revision += 1;
  }

  /** Fresh facts about the root. */
  renew(table: NodeTable): void {
    if (this.root) this.add(table, 0, null, 0);
  }

  private add(table: NodeTable, at: number, parent: TreeNode | null, place: number): TreeNode {
    const id = table.id[at] ?? 0;
    const before = this.byId.get(id);
    const node = before && before.parent === parent && before.place === place ? before : new TreeNode(table, at, parent, place);
    node.status = table.status[at] ?? 0;
    node.overflow = table.overflow[at] ?? 0;
    node.pair = table.pair[at] ?? 0;
    node.edited = table.edited[at] === 1;
    node.worst = table.worst[at] ?? 0;
    node.flood = table.flood[at] ?? 0;
    const [warnings, errors, unmatched] = [table.below[at * 3] ?? 0, table.below[at * 3 + 1] ?? 0, table.below[at * 3 + 2] ?? 0];
    node.below = warnings + errors + unmatched === 0 ? NOTHING : [warnings, errors, unmatched];
    if (node !== before) this.byId.set(id, node);
    return node;
  }
}
