/** The aligned outline of the diff view as rows. */

import { label } from './names';
import type { NodeTable, PairsAnswer } from './types';

export interface PairSide {
  id: number;
  name: string;
  label: string;
  status: number;
  worst: number;
  below: number[];
}

export interface PairRow {
  key: string;
  depth: number;
  kids: number;
  target: PairSide;
  golden: PairSide;
  moved: boolean;
  dtype: string;
  shape: string;
  error: number | null;
  /** Set in the row that stands for further rows of this parent; `kids` then counts them. */
  more: PairRow | null;
}

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

export function pairRows(parent: PairRow | null, answer: PairsAnswer): PairRow[] {
  return answer.target.id.map((_, at) => {
    const [target, golden] = [side(answer.target, at), side(answer.golden, at)];
    return {
      key: `${target.id}:${golden.id}`,
      depth: parent ? parent.depth + 1 : 0,
      kids: Math.max(answer.target.kids[at] ?? 0, answer.golden.kids[at] ?? 0),
      target,
      golden,
      moved: answer.moved[at] === 1,
      dtype: answer.dtype[at] ?? '',
      shape: answer.shape[at] ?? '',
      error: answer.error[at] ?? null,
      more: null,
    };
  });
}

export type Loaded = ReadonlyMap<string, { rows: PairRow[]; total: number }>;

/** All rows on the screen, from top to bottom, without recursion. */
export function flatten(root: PairRow, open: ReadonlySet<string>, loaded: Loaded): PairRow[] {
  const flat: PairRow[] = [];
  const pending = [root];
  for (let row = pending.pop(); row; row = pending.pop()) {
    flat.push(row);
    if (row.more || !open.has(row.key)) continue;
    const list = loaded.get(row.key);
    if (!list) continue;
    if (list.rows.length < list.total) {
      pending.push({ ...row, key: `${row.key}+`, depth: row.depth + 1, kids: list.total - list.rows.length, more: row });
    }
    for (let at = list.rows.length - 1; at >= 0; at -= 1) pending.push(list.rows[at] as PairRow);
  }
  return flat;
}
