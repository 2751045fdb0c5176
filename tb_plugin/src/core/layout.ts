/**
 * Where every box of a tree stands. Pure: a tree and its open set in, arrays out.
 *
 * Leaves flow in lines like words; a box with children takes a line of its own and fills its parent's width. Boxes are in
 * drawing order (parents first), with `skip` pointing behind a box's subtree, so that drawing and hit tests only touch what is on
 * screen. Nothing here recurses: a chain of 20,000 modules is a legal tree.
 */

import type { Tree, TreeNode } from './tree';

export const TITLE = 22;
export const LEAF = 20;
export const GAP = 5;
export const PAD = 7;
/** Width at which leaves break into the next line. */
export const LINE = 440;
/** Deeper boxes are not indented any more, so that the drawing's width stays bounded. */
const DEEP = 60;

export interface Layout {
  /** Boxes; the columns may be longer. */
  count: number;
  /** The node of a box; for a gap the parent whose children miss. */
  node: TreeNode[];
  /** First missing child of a gap, -1 for a node's own box. */
  gapFrom: Int32Array;
  gapSize: Int32Array;
  open: Uint8Array;
  x: Float64Array;
  y: Float64Array;
  w: Float64Array;
  h: Float64Array;
  /** Index behind the subtree of a box. */
  skip: Int32Array;
  width: number;
  height: number;
}

function badgeWidth(node: TreeNode): number {
  const counts = node.below.filter((count) => count > 0);
  return counts.reduce((sum, count) => sum + 20 + String(count).length * 7, 0);
}

export function layout(tree: Tree): Layout {
  const l = enumerate(tree);
  for (let at = l.count - 1; at >= 0; at -= 1) measure(l, at);
  for (let at = 0; at < l.count; at += 1) if (l.open[at]) place(l, at);
  l.width = l.w[0] ?? 0;
  l.height = l.h[0] ?? 0;
  return l;
}

/** All boxes in drawing order, without places. */
function enumerate(tree: Tree): Layout {
  let most = 1;
  // A node has at most one gap more than it has children, and a link may have open what is not loaded.
  for (const id of tree.open) most += 2 * (tree.byId.get(id)?.children.length ?? 0) + 1;
  const l: Layout = {
    count: 0,
    node: [],
    gapFrom: new Int32Array(most),
    gapSize: new Int32Array(most),
    open: new Uint8Array(most),
    x: new Float64Array(most),
    y: new Float64Array(most),
    w: new Float64Array(most),
    h: new Float64Array(most),
    skip: new Int32Array(most),
    width: 0,
    height: 0,
  };
  const add = (node: TreeNode, gapFrom: number, gapSize: number, open: boolean): void => {
    const at = l.count;
    l.node.push(node);
    l.gapFrom[at] = gapFrom;
    l.gapSize[at] = gapSize;
    l.open[at] = open ? 1 : 0;
    l.skip[at] = at + 1;
    l.count += 1;
  };
  const isOpen = (node: TreeNode): boolean => node.kids > 0 && tree.isOpen(node);
  // The open boxes around the present place: their index, next child, and the place that child should have.
  const around: number[] = [];
  const child: number[] = [];
  const next: number[] = [];
  const enter = (node: TreeNode): void => {
    const open = isOpen(node);
    if (open) {
      around.push(l.count);
      child.push(0);
      next.push(0);
    }
    add(node, -1, 0, open);
  };
  if (tree.root) enter(tree.root);
  while (around.length > 0) {
    const top = around.length - 1;
    const at = around[top] as number;
    const node = l.node[at] as TreeNode;
    const one = node.children[child[top] as number];
    const expected = next[top] as number;
    const end = one ? one.place : node.total;
    if (end > expected) add(node, expected, end - expected, false);
    if (one) {
      child[top] = (child[top] as number) + 1;
      next[top] = one.place + 1;
      enter(one);
    } else {
      l.skip[at] = l.count;
      around.pop();
      child.pop();
      next.pop();
    }
  }
  return l;
}

/** The index of a node's own box, -1 if it is not among the boxes. */
export function indexOf(l: Layout, id: number): number {
  if (id === 0) return -1;
  for (let at = 0; at < l.count; at += 1) if ((l.node[at] as TreeNode).id === id && (l.gapFrom[at] as number) < 0) return at;
  return -1;
}

/** Whether a box stands on a line of its own. */
function isBlock(l: Layout, at: number): boolean {
  return (l.gapFrom[at] as number) >= 0 || (l.node[at] as TreeNode).kids > 0;
}

function inset(l: Layout, at: number): number {
  return (l.node[at] as TreeNode).depth > DEEP ? 0 : PAD;
}

function measure(l: Layout, at: number): void {
  const node = l.node[at] as TreeNode;
  if ((l.gapFrom[at] as number) >= 0) {
    l.w[at] = 160;
    l.h[at] = LEAF;
    return;
  }
  if (node.kids === 0) {
    l.w[at] = Math.max(52, Math.min(node.labelWidth, 260) + 22);
    l.h[at] = LEAF;
    return;
  }
  const title = Math.min(node.labelWidth, 420) + 40 + badgeWidth(node);
  if (!l.open[at]) {
    l.w[at] = title;
    l.h[at] = TITLE;
    return;
  }
  let widest = title;
  let height = TITLE + PAD;
  let lineWidth = 0;
  for (let child = at + 1; child < (l.skip[at] as number); child = l.skip[child] as number) {
    const width = l.w[child] as number;
    if (isBlock(l, child)) {
      if (lineWidth > 0) height += LEAF + GAP;
      lineWidth = 0;
      height += (l.h[child] as number) + GAP;
      widest = Math.max(widest, width + 2 * inset(l, at));
      continue;
    }
    if (lineWidth > 0 && lineWidth + GAP + width > LINE) {
      height += LEAF + GAP;
      lineWidth = 0;
    }
    lineWidth += (lineWidth > 0 ? GAP : 0) + width;
    widest = Math.max(widest, lineWidth + 2 * inset(l, at));
  }
  if (lineWidth > 0) height += LEAF + GAP;
  l.w[at] = widest;
  l.h[at] = height - GAP + PAD;
}

function place(l: Layout, at: number): void {
  const pad = inset(l, at);
  const left = (l.x[at] as number) + pad;
  const inner = (l.w[at] as number) - 2 * pad;
  let x = left;
  let y = (l.y[at] as number) + TITLE + PAD;
  for (let child = at + 1; child < (l.skip[at] as number); child = l.skip[child] as number) {
    const width = l.w[child] as number;
    if (isBlock(l, child)) {
      if (x > left) y += LEAF + GAP;
      l.x[child] = left;
      l.y[child] = y;
      if ((l.gapFrom[child] as number) < 0) l.w[child] = inner;
      y += (l.h[child] as number) + GAP;
      x = left;
      continue;
    }
    if (x > left && x - left + width > LINE) {
      y += LEAF + GAP;
      x = left;
    }
    l.x[child] = x;
    l.y[child] = y;
    x += width + GAP;
  }
}

/** Calls `each` for every box that touches the window, parents before children. */
export function visit(l: Layout, left: number, top: number, right: number, bottom: number, each: (at: number) => void): void {
  let at = 0;
  while (at < l.count) {
    const y = l.y[at] as number;
    // In drawing order tops never rise, so everything after this is below the window.
    if (y > bottom) return;
    const x = l.x[at] as number;
    if (y + (l.h[at] as number) < top || x > right || x + (l.w[at] as number) < left) {
      at = l.skip[at] as number;
      continue;
    }
    each(at);
    at += 1;
  }
}

/**
 * Like `visit`, without boxes that lie whole behind a child of theirs: of a chain of 20,000 modules around the window only the
 * innermost can be seen.
 */
export function visible(l: Layout, left: number, top: number, right: number, bottom: number, each: (at: number) => void): void {
  let waiting = -1;
  visit(l, left, top, right, bottom, (at) => {
    if (waiting >= 0 && !hides(l, at, waiting, left, top, right, bottom)) each(waiting);
    waiting = at;
  });
  if (waiting >= 0) each(waiting);
}

/** Whether all of a box that the window shows lies behind another one that comes after it. */
function hides(l: Layout, front: number, back: number, left: number, top: number, right: number, bottom: number): boolean {
  const [x, y] = [l.x[front] as number, l.y[front] as number];
  const seenLeft = Math.max(left, l.x[back] as number);
  const seenRight = Math.min(right, (l.x[back] as number) + (l.w[back] as number));
  return y <= top && y + (l.h[front] as number) >= bottom && x <= seenLeft && x + (l.w[front] as number) >= seenRight;
}

/** The innermost box at a point, or -1. */
export function hitTest(l: Layout, x: number, y: number): number {
  let hit = -1;
  visit(l, x, y, x, y, (at) => {
    hit = at;
  });
  return hit;
}
