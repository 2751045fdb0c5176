/** The aligned outline of the diff view as rows. */

import { label } from './names';
import type { TreeNode } from './tree';
import type { NodeTable, PairsAnswer } from './types';

interface PairSide {
  id: number;
  name: string;
  label: string;
  status: number;
  worst: number;
  below: readonly number[];
}

export interface PairRow {
  key: string;
  /** Given when rows are laid one below the other. */
  depth: number;
  /** Place among the rows of its parent. */
  place: number;
  kids: number;
  target: PairSide;
  golden: PairSide;
  moved: boolean;
  dtype: string;
  shape: string;
  error: number | null;
  /** Set in a row that stands for rows of this parent that are not loaded; `place` is the first, `kids` counts them. */
  more: PairRow | null;
}

/** What is loaded of the rows below one row. */
export interface Loaded {
  /** By place, ascending. */
  rows: PairRow[];
  total: number;
  /** Rows left out because everything in them agrees. */
  hidden: number;
}

export const pairKey = (target: number, golden: number): string => `${target}:${golden}`;

function side(table: NodeTable, at: number): PairSide {
  const name = table.name[at] ?? '';
  return {
    id: table.id[at] ?? 0,
    name,
    label: label(name, table.kind[at] ?? 0, false),
    status: table.status[at] ?? 0,
    worst: table.worst[at] ?? 0,
    below: table.below.slice(at * 3, at * 3 + 3),
  };
}

const NOTHING: PairSide = { id: 0, name: '', label: '', status: 0, worst: 0, below: [0, 0, 0] };

/** The topmost row: both roots. */
export function rootRow(target: TreeNode | null, golden: TreeNode | null): PairRow {
  const key = pairKey(target?.id ?? 0, golden?.id ?? 0);
  const kids = Math.max(target?.kids ?? 0, golden?.kids ?? 0);
  return {
    key, depth: 0, place: 0, kids, target: target ?? NOTHING, golden: golden ?? NOTHING, moved: false, dtype: '', shape: '', error: null, more: null,
  };
}

/** The rows of page `page` of an answer. */
export function pairRows(answer: PairsAnswer, page: number): PairRow[] {
  const first = answer.count.slice(0, page).reduce((sum, count) => sum + count, 0);
  return Array.from({ length: answer.count[page] ?? 0 }, (_, offset) => {
    const { rows } = answer;
    const at = first + offset;
    const [target, golden] = [side(rows.target, at), side(rows.golden, at)];
    return {
      key: pairKey(target.id, golden.id),
      depth: 0,
      place: (answer.from[page] ?? 0) + offset,
      kids: Math.max(rows.target.kids[at] ?? 0, rows.golden.kids[at] ?? 0),
      target,
      golden,
      moved: rows.moved[at] === 1,
      dtype: rows.dtype[at] ?? '',
      shape: rows.shape[at] ?? '',
      error: rows.error[at] ?? null,
      more: null,
    };
  });
}

/** What is loaded below a row, together with a fresh page. */
export function merged(known: Loaded | undefined, fresh: PairRow[], total: number, hidden: number): Loaded {
  const first = fresh[0]?.place ?? 0;
  const end = first + fresh.length;
  const kept = known?.rows ?? [];
  return { rows: [...kept.filter((row) => row.place < first), ...fresh, ...kept.filter((row) => row.place >= end)], total, hidden };
}

/** All rows on the screen, from top to bottom, without recursion. */
export function flatten(root: PairRow, open: ReadonlySet<string>, loaded: ReadonlyMap<string, Loaded>): PairRow[] {
  const flat: PairRow[] = [];
  const pending = [root];
  for (let row = pending.pop(); row; row = pending.pop()) {
    flat.push(row);
    if (row.more || !open.has(row.key)) continue;
    const list = loaded.get(row.key);
    if (!list) continue;
    const parent = row;
    const gap = (from: number, end: number): void => {
      if (from < end) pending.push({ ...parent, key: `${parent.key}+${from}`, depth: parent.depth + 1, place: from, kids: end - from, more: parent });
    };
    let end = list.total;
    for (let at = list.rows.length - 1; at >= 0; at -= 1) {
      const one = list.rows[at] as PairRow;
      gap(one.place + 1, end);
      one.depth = parent.depth + 1;
      pending.push(one);
      end = one.place;
    }
    gap(0, end);
  }
  return flat;
}
