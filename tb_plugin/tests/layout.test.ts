import { describe, expect, it } from 'vitest';
import { GAP, hitTest, layout, LEAF, LINE, PAD, TITLE, visible, visit } from '../src/core/layout';
import { mirrored } from '../src/core/mirror';
import { Tree, type Page } from '../src/core/tree';
import type { NodeTable } from '../src/core/types';

function table(names: string[], kids: number[], firstId: number): NodeTable {
  const zero = names.map(() => 0);
  return {
    id: names.map((_, at) => firstId + at),
    name: names,
    kind: kids.map((count) => (count > 0 ? 0 : 1)),
    kids,
    status: zero,
    overflow: zero,
    micro: zero,
    pair: zero,
    edited: zero,
    worst: zero,
    flood: zero,
    below: names.flatMap(() => [0, 0, 0]),
  };
}

function page(parent: number, from: number, total: number, nodes: NodeTable): Page {
  return { parent, from, total, nodes, first: 0, count: nodes.id.length };
}

function small(): Tree {
  const tree = new Tree('target');
  tree.reset(table(['DefaultModel'], [3], 1));
  tree.take(page(1, 0, 3, table(['Module.a.A.forward.0', 'Torch.add.0.forward', 'Torch.mul.0.forward'], [2, 0, 0], 10)));
  tree.take(page(10, 0, 2, table(['Torch.x.0.forward', 'Torch.y.0.forward'], [0, 0], 20)));
  tree.setOpen(tree.root!, true);
  return tree;
}

describe('layout', () => {
  it('puts leaves beside each other and modules on lines of their own', () => {
    const l = layout(small());
    expect(l.count).toBe(4);
    const [module, add, mul] = [1, 2, 3];
    expect(l.y[module]).toBe(TITLE + PAD);
    expect(l.w[module]).toBe(l.w[0]! - 2 * PAD);
    expect(l.y[add]).toBe(TITLE + PAD + TITLE + GAP);
    expect(l.y[mul]).toBe(l.y[add]);
    expect(l.x[mul]).toBe(l.x[add]! + l.w[add]! + GAP);
    expect(l.h[0]).toBe(l.y[add]! + LEAF + PAD);
  });

  it('keeps every child inside its parent and no two siblings over each other', () => {
    const tree = new Tree('target');
    const count = 400;
    tree.reset(table(['DefaultModel'], [count], 1));
    const names = Array.from({ length: count }, (_, at) => (at % 7 === 3 ? `Module.m${at}.M.forward.0` : `Torch.operation_${at}.0.forward`));
    tree.take(page(1, 0, count, table(names, names.map((_, at) => (at % 7 === 3 ? 5 : 0)), 10)));
    tree.setOpen(tree.root!, true);
    const l = layout(tree);
    for (let one = 1; one < l.count; one += 1) {
      expect(l.x[one]! + l.w[one]!).toBeLessThanOrEqual(l.w[0]! - PAD + 0.001);
      expect(l.y[one]! + l.h[one]!).toBeLessThanOrEqual(l.h[0]! - PAD + 0.001);
      expect(l.x[one]! + l.w[one]!).toBeLessThanOrEqual(Math.max(LINE + 2 * PAD, l.w[0]!));
      if (one > 1 && l.y[one] === l.y[one - 1]) expect(l.x[one]!).toBeGreaterThanOrEqual(l.x[one - 1]! + l.w[one - 1]!);
      if (one > 1 && l.y[one] !== l.y[one - 1]) expect(l.y[one]!).toBeGreaterThanOrEqual(l.y[one - 1]! + l.h[one - 1]!);
    }
  });

  it('finds the innermost box under a point', () => {
    const tree = small();
    tree.setOpen(tree.byId.get(10)!, true);
    const l = layout(tree);
    for (let at = 0; at < l.count; at += 1) {
      const inner = hitTest(l, l.x[at]! + 3, l.y[at]! + 3);
      expect(inner).toBe(at);
    }
    expect(hitTest(l, -5, -5)).toBe(-1);
    expect(hitTest(l, 1e6, 10)).toBe(-1);
  });

  it('shows what is not loaded as one gap per piece', () => {
    const tree = new Tree('target');
    tree.reset(table(['DefaultModel'], [1000], 1));
    tree.take(page(1, 500, 1000, table(['Torch.a.0.forward', 'Torch.b.0.forward'], [0, 0], 50)));
    tree.setOpen(tree.root!, true);
    const l = layout(tree);
    expect(Array.from(l.gapFrom).slice(0, l.count)).toEqual([-1, 0, -1, -1, 502]);
    expect(Array.from(l.gapSize).slice(0, l.count)).toEqual([0, 500, 0, 0, 498]);
  });

  it('takes a chain of 20,000 and touches only what is in the window', () => {
    const tree = new Tree('target');
    tree.reset(table(['DefaultModel'], [1], 1));
    for (let depth = 1; depth <= 20_000; depth += 1) tree.take(page(depth, 0, 1, table([`Module.m${depth}.M.forward.0`], [depth < 20_000 ? 1 : 0], depth + 1)));
    for (const node of tree.byId.values()) tree.setOpen(node, true);
    const l = layout(tree);
    expect(l.count).toBe(20_001);
    expect(l.width).toBeLessThan(1500);
    const middle = l.y[10_000]! + 5;
    const seen: number[] = [];
    visible(l, 0, middle, 800, middle + 600, (at) => seen.push(at));
    // The indented outermost ones, the one around the window, those that begin in it; not the 9,900 behind.
    expect(seen.length).toBeLessThan(100);
    expect(seen).toContain(10_000);
    expect(seen).toContain(10_010);
    expect(seen).not.toContain(9_000);
    const told = mirrored(l, { tx: 0, ty: -middle, k: 1 }, 800, 600, 10_002);
    expect(told.map((one) => one.node.id)).toContain(10_002);

    const wide = new Tree('target');
    wide.reset(table(['DefaultModel'], [50_000], 1));
    wide.take(page(1, 0, 50_000, table(Array.from({ length: 50_000 }, (_, at) => `Torch.op.${at}.forward`), Array(50_000).fill(0), 10)));
    wide.setOpen(wide.root!, true);
    const drawn: number[] = [];
    const w = layout(wide);
    visit(w, 0, w.height / 2, 800, w.height / 2 + 600, (at) => drawn.push(at));
    expect(drawn.length).toBeGreaterThan(20);
    expect(drawn.length).toBeLessThan(400);
  });
});
