/** The parameter table as data: lines, order, texts. */

import { shortNumber } from './numbers';
import type { RowPair } from './types';

export interface Line {
  pair: RowPair;
  side: 'target' | 'golden';
  /** Name of the row on its own side. */
  name: string;
  /** Whether this line begins a pair. */
  head: boolean;
}

/** Columns that only measure how far the two sides are apart: they stand in the target's row. */
const MEASURES = /diff$|RelativeErr$|^Cosine$|^EucDist$|^MaxAbsErr$|Err Ratio$|^Result$|^Err_message$|Consistent$|^Equal bits$|^ULP$|^Largest at$/;

export function isMeasure(column: string): boolean {
  return MEASURES.test(column);
}

export function cell(row: Record<string, unknown> | null, column: string): string {
  const value = row?.[column];
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value.trim() === '' ? '' : value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function shown(text: string, column: string): string {
  if (text === '') return '';
  if (column === 'Err_message') return messages(text).join(' · ');
  if (column === 'dtype') return text.replace(/^(torch|mindspore|numpy)\./, '');
  return shortNumber(text);
}

/** The entries of an `Err_message`, which is a JSON list of texts in a text. */
export function messages(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list.map(String);
  } catch {
    // Not a list: shown as it is.
  }
  return text.trim() === '' ? [] : [text];
}

/** Result of a pair as a status. */
export function result(pair: RowPair): number {
  return { pass: 1, warning: 2, error: 3 }[cell(pair.target, 'Result')] ?? (pair.target && pair.golden ? 0 : 4);
}

const SEVERITY = [0, 1, 3, 4, 2];

export type SortKey = { column: string; down: boolean } | null;

/** Sorted pairs; numbers as numbers, `Result` by severity, empty cells last. */
export function sorted(pairs: readonly RowPair[], by: SortKey): RowPair[] {
  const list = [...pairs];
  if (!by) return list;
  const sign = by.down ? -1 : 1;
  const key = (pair: RowPair): number | string => {
    if (by.column === 'name') return pair.name;
    if (by.column === 'Result') return SEVERITY[result(pair)] ?? 0;
    const text = cell(pair.target, by.column) || cell(pair.golden, by.column);
    const number = Number.parseFloat(text.replace('%', ''));
    if (/^-?(nan|inf)/i.test(text)) return Number.MAX_VALUE;
    return Number.isNaN(number) ? text : Math.abs(number);
  };
  return list.sort((one, two) => {
    const [a, b] = [key(one), key(two)];
    if (a === '' || b === '') return a === b ? 0 : a === '' ? 1 : -1;
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
    return sign * String(a).localeCompare(String(b));
  });
}

export function lines(pairs: readonly RowPair[], compare: boolean): Line[] {
  const list: Line[] = [];
  for (const pair of pairs) {
    if (pair.target) list.push({ pair, side: 'target', name: pair.name, head: true });
    if (compare && pair.golden) list.push({ pair, side: 'golden', name: pair.golden_name ?? pair.name, head: !pair.target });
  }
  return list;
}

/** The table as tab-separated text, with the exact values of the file. */
export function tsv(list: readonly Line[], columns: readonly string[]): string {
  const clean = (text: string): string => text.replace(/[\t\n\r]+/g, ' ');
  const head = ['side', 'name', ...columns].join('\t');
  const rows = list.map((line) => [line.side, line.name, ...columns.map((column) => clean(cell(line.pair[line.side], column)))].join('\t'));
  return [head, ...rows].join('\n');
}
