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

/** What differs, and by how much; statistics that are the same may be those of other values. */
export function told(found: Difference, byStatistics: boolean, t: Translate): string {
  const words: string[] = [];
  if (found.inputs && found.what === 'computation') {
    if (found.inputs.error !== 0) words.push(t('evidence.inputsAgree', { error: share(found.inputs.error, t), noise: share(found.inputs.noise, t, 1) }));
    else words.push(t(byStatistics ? 'evidence.inputsSame' : 'evidence.inputsEqual'));
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

/** What differs, from golden to the target, and by how much. */
export function change(row: Evidence, t: Translate): string {
  const [target, golden] = [number(row.target), number(row.golden)];
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
  return t('evidence.off', { share: share(row.error, t), of: scale ? t(scale) : '', noise });
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

/** A statistic, to the digits that a person reads; what is no number as it is. */
function number(text: string | null): string {
  const value = parsed(text);
  return Number.isNaN(value) && !/^\s*[-+]?nan\s*$/i.test(text ?? '') ? text || '?' : general(value, 6);
}

/** The number that a text writes; NaN if it is none. */
function parsed(text: string | null): number {
  const infinite = /^\s*([-+]?)inf(inity)?\s*$/i.exec(text ?? '');
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity;
  return /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(text ?? '') ? Number(text) : NaN;
}
