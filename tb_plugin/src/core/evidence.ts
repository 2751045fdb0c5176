/** What a first difference is, in the words of the terminal (`cli/evidence.py`, `cli/difference.py`); `tests/data/words.json` holds both to them. */

import { general, hundredths } from './digits';
import { isKey, type TextKey } from './i18n';
import type { Difference, Evidence } from './types';

type Translate = (key: TextKey, values?: Record<string, string | number>) => string;

/** What the relative error of a statistic is relative to; of a norm it is the norm itself. */
const SCALES: Record<string, TextKey> = {
  Max: 'evidence.ofLargest',
  Min: 'evidence.ofLargest',
  Mean: 'evidence.ofTypical',
  EucDist: 'evidence.ofNorm',
  MaxAbsErr: 'evidence.ofLargest',
};

/** What is not one value on each side: what is apart, and the statistic whose values stand beside it. */
const DISTANCES: Record<string, [TextKey, string]> = {
  EucDist: ['evidence.allElements', 'Norm'],
  MaxAbsErr: ['evidence.oneElement', 'Max'],
  md5: ['evidence.whole', 'Norm'],
};

/** From here on a change is told as a factor. */
const FACTOR = 10;

/** What a person reads of a value. */
const DIGITS = 6;

/** So many tell any two numbers apart, and one more. */
const MOST_DIGITS = 18;

/** What differs, and by how much; statistics that are the same may be those of other values. */
export function told(found: Difference, byStatistics: boolean, t: Translate): string {
  const words: string[] = [];
  if (found.inputs && found.what === 'computation') {
    if (found.inputs.error !== 0) words.push(t('evidence.inputsAgree', shares(found.inputs.error, found.inputs.noise, t)));
    else words.push(t(byStatistics ? 'evidence.inputsSame' : 'evidence.inputsEqual'));
    if (found.inputs.only_extremes) words.push(t('evidence.onlyExtremes', { ...found.inputs.only_extremes }));
  }
  if (found.what === 'structure') words.push(t(found.side === 'golden' ? 'evidence.goldenHas' : 'evidence.targetHas'));
  if (found.evidence) {
    const shown = change(found.evidence, t);
    words.push(found.evidence.node ? t('evidence.seenAt', { node: found.evidence.node, shown }) : shown);
  }
  if (found.is_random) words.push(t('evidence.random'));
  if (found.is_communication) words.push(t('evidence.communication'));
  const what = t(`differs.${found.what}`);
  return words.length > 0 ? t('evidence.line', { what, words: words.join(t('evidence.and')) }) : what;
}

/** What may be wrong with the comparison rather than with the target. */
export function hints(found: Pick<Difference, 'unlike_calls' | 'golden_overflow'>, t: Translate): string[] {
  const times = (count: number): string => t(count === 1 ? 'hint.once' : 'hint.times', { count: count.toLocaleString('en-US') });
  const calls = found.unlike_calls;
  return [
    ...(calls ? [t('hint.shifted', { api: calls.api, golden: times(calls.golden), target: times(calls.target) })] : []),
    ...(found.golden_overflow ? [t('hint.goldenOverflows', { node: found.golden_overflow.name })] : []),
  ];
}

/** What differs, from golden to the target, and by how much. */
export function change(row: Evidence, t: Translate): string {
  const [golden, target] = toldApart(row.golden, row.target);
  const values = { golden, target };
  const distance = DISTANCES[row.statistic];
  if (!distance) return t('evidence.value', { row: row.row, statistic: row.statistic, ...values, by: apart(row, t) });
  const beside = row.golden && golden !== target ? t('evidence.beside', { statistic: distance[1], ...values }) : '';
  return t(distance[0], { row: row.row, by: apart(row, t) }) + beside;
}

/** How far golden and target are apart. */
function apart(row: Evidence, t: Translate): string {
  if (row.broken) {
    const key = `evidence.another.${row.broken}`;
    return isKey(key) ? t(key) : row.broken;
  }
  const noise = share(row.noise, t, 1);
  const factor = row.statistic in DISTANCES ? '' : factorOf(row);
  if (factor) return t('evidence.factor', { factor, noise });
  if (row.error === null) return t('evidence.beyond', { noise });
  const scale = SCALES[row.statistic];
  const told = shares(row.error, row.noise, t);
  return t('evidence.off', { share: told.error, of: scale ? t(scale) : '', noise: told.noise });
}

/** By what golden is multiplied, where a share would say no more than that they have nothing in common. */
function factorOf(row: Evidence): string {
  const factor = parsed(row.target) / parsed(row.golden);
  const tells = Number.isFinite(factor) && (factor >= FACTOR || (factor > 0 && factor <= 1 / FACTOR));
  return tells ? general(Number(general(factor, 3)), 6) : '';
}

/** A relative error as so many hundredths. */
function share(value: number | null, t: Translate, digits = 2): string {
  return value === null ? t('evidence.noNumber') : hundredths(value, digits);
}

/** A relative error and the noise beside it, to so many digits that it shows which of them is larger. */
function shares(error: number | null, noise: number, t: Translate): { error: string; noise: string } {
  let told = { error: share(error, t), noise: share(noise, t, 1) };
  if (error === null) return told;
  const percent = (text: string): number => Number(text.replace(/[, %]/g, ''));
  for (let digits = 2; digits < MOST_DIGITS; digits += 1) {
    if (percent(told.error) > percent(told.noise) === error > noise) break;
    told = { error: share(error, t, digits), noise: share(noise, t, digits) };
  }
  return told;
}

/** Two values, to so many digits that it shows that they differ. */
function toldApart(golden: string | null, target: string | null): [string, string] {
  let told: [string, string] = [number(golden), number(target)];
  for (let digits = DIGITS + 1; digits < MOST_DIGITS; digits += 1) {
    if (told[0] !== told[1] || golden === target) break;
    told = [number(golden, digits), number(target, digits)];
  }
  return told;
}

/** A statistic, to the digits that a person reads; what is no number as it is. */
function number(text: string | null, digits = DIGITS): string {
  const value = parsed(text);
  return Number.isNaN(value) && !/^\s*[-+]?nan\s*$/i.test(text ?? '') ? text || '?' : general(value, digits);
}

/** The number that a text writes; NaN if it is none. */
function parsed(text: string | null): number {
  const infinite = /^\s*([-+]?)inf(inity)?\s*$/i.exec(text ?? '');
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity;
  return /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(text ?? '') ? Number(text) : NaN;
}
