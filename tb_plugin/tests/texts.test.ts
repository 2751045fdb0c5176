import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isKey, TEXTS, text } from '../src/core/i18n';
import { palette } from '../src/core/palette';

/** Contrast of two `#rrggbb` colours by relative luminance (WCAG 2.2). */
function contrast(one: string, two: string): number {
  const light = (colour: string): number => {
    const channel = (at: number): number => {
      const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  };
  const [a, b] = [light(one), light(two)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function* sources(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* sources(path);
    else if (/\.(ts|svelte)$/.test(name) && name !== 'i18n.ts') yield readFileSync(path, 'utf8');
  }
}
const all = [...sources(join(import.meta.dirname, '../src'))].join('\n');

describe('texts', () => {
  it('are complete in both languages, with the same places to fill', () => {
    for (const [key, [en, zh]] of Object.entries(TEXTS)) {
      expect(en.trim(), key).not.toBe('');
      expect(zh.trim(), key).not.toBe('');
      const places = (value: string): string[] => [...value.matchAll(/\{(\w+)\}/g)].map((found) => found[1] ?? '').sort();
      expect(places(zh), key).toEqual(places(en));
    }
  });

  it('are Chinese where they should be', () => {
    const same = Object.entries(TEXTS).filter(([, [en, zh]]) => en === zh);
    expect(same.map(([key]) => key).sort()).toEqual(['gap', 'kind.api', 'precision']);
  });

  it('exist for every key the code asks for', () => {
    const asked = [...all.matchAll(/\bt\('([\w.]+)'/g)].map((found) => found[1] ?? '');
    expect(asked.length).toBeGreaterThan(80);
    for (const key of asked) expect(isKey(key), key).toBe(true);
  });

  it('are all used', () => {
    const grouped = /^(status|overflow|kind|comm|problem|key|edit|differs|evidence|hint|onlyGolden)\./;
    const idle = Object.keys(TEXTS).filter((key) => !grouped.test(key) && !all.includes(`'${key}'`));
    expect(idle.filter((key) => key !== 'target' && key !== 'golden')).toEqual([]);
  });

  it('fill places', () => {
    expect(text('en', 'results', { count: 7 })).toBe('7 nodes');
    expect(text('zh', 'rankN', { rank: 3 })).toBe('卡 3');
  });
});

describe('palette', () => {
  it.each([false, true])('is readable (dark: %s)', (dark) => {
    const colours = palette(dark);
    for (const tone of [...colours.status, ...colours.overflow]) expect(contrast(tone.fill, tone.text)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(colours.card, colours.ink)).toBeGreaterThanOrEqual(7);
    expect(contrast(colours.card, colours.faint)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(colours.page, colours.accent)).toBeGreaterThanOrEqual(3);
  });
});
