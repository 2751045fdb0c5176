import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hundredths } from '../src/core/digits';
import { change, hints, told } from '../src/core/evidence';
import { text, type TextKey } from '../src/core/i18n';
import type { Difference, Evidence } from '../src/core/types';

type Values = Record<string, string | number>;
type Found = Omit<Difference, 'side'> & { node: string; golden_node: string | null };

interface Words {
  changes: { row: Evidence; told: string }[];
  shares: { share: number | null; told: string }[];
  evidence: { found: Found; by_statistics: boolean; told: string }[];
  hints: { calls: Difference['unlike_calls']; overflow: string | null; told: string[] }[];
}

/** The words that the terminal is held to as well (tests/test_words.py). */
const words = JSON.parse(readFileSync(join(import.meta.dirname, '../../tests/data/words.json'), 'utf8')) as Words;
const english = (key: TextKey, values?: Values): string => text('en', key, values);
const chinese = (key: TextKey, values?: Values): string => text('zh', key, values);

describe('a first difference is told in the words of the terminal', () => {
  it.each(words.changes)('$told', (one) => expect(change(one.row, english)).toBe(one.told));

  it.each(words.evidence)('$told', ({ found, by_statistics: byStatistics, told: line }) => {
    const side = found.what === 'structure' && found.golden_node === found.node ? 'golden' : 'target';
    expect(told({ ...found, side }, byStatistics, english)).toBe(line);
  });

  it.each(words.hints)('$told', ({ calls, overflow, told: lines }) => {
    const found = { unlike_calls: calls, golden_overflow: overflow === null ? null : { id: 1, name: overflow, frame: null } };
    expect(hints(found, english)).toEqual(lines);
  });

  it.each(words.shares.filter((one) => one.share !== null))('$told', (one) => expect(hundredths(one.share ?? NaN, 2)).toBe(one.told));

  it('and with the same numbers in Chinese', () => {
    for (const one of words.changes) {
      const line = change(one.row, chinese);
      for (const number of one.told.match(/(?<![\w.])-?\d+([.,]\d+)*(e[-+]\d+)?( %)?/g) ?? []) expect(line).toContain(number);
      expect(line).not.toMatch(/off by|noise|another|element/);
    }
  });
});
