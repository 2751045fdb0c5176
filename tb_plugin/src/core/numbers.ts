/** Numbers as people read them; the exact text stays in the tooltip. */

/** Stands for NaN and infinities in the server's series. */
const BEYOND = 1e30;

/** Six significant digits, without changing texts that are not numbers. */
export function shortNumber(text: string): string {
  const trimmed = text.trim();
  const percent = trimmed.endsWith('%');
  const body = percent ? trimmed.slice(0, -1) : trimmed;
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(body)) return text;
  if (/^[-+]?\d+$/.test(body) && body.length <= 12) return trimmed;
  const value = Number(body);
  if (!Number.isFinite(value)) return text;
  return significant(value) + (percent ? '%' : '');
}

function significant(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(3).replace(/\.?0+e/, 'e');
  return String(Number(value.toPrecision(6)));
}

/** A relative error as a percentage a person can compare: `2.1e-7`, `0.53 %`, `38.9×`. */
export function relative(value: number | null): string {
  if (value === null) return '–';
  if (value >= BEYOND) return 'NaN / ∞';
  if (value === 0) return '0';
  if (value < 1e-4) return value.toExponential(1);
  if (value < 2) return `${Number((value * 100).toPrecision(3))} %`;
  return `${Number(value.toPrecision(3))}×`;
}

/** Place of a relative error on a logarithmic bar, 0 to 1: 1e-8 and less is 0, 10 and more is 1. */
export function barLength(value: number | null): number {
  if (value === null || value <= 1e-8) return 0;
  return Math.min(1, (Math.log10(value) + 8) / 9);
}

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let size = count;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toPrecision(3)} ${units[unit]}`;
}

/** The first place where two texts of numbers differ, to emphasise what comes after it. */
export function differsAt(left: string, right: string): number {
  const most = Math.min(left.length, right.length);
  let at = 0;
  while (at < most && left[at] === right[at]) at += 1;
  return at === left.length && at === right.length ? -1 : at;
}
