/** Numbers as the terminal writes them: rounded to so many digits, an exact half to the even one. */

interface Rounded {
  negative: boolean;
  /** Significant digits, the first of them not 0; without zeros at the end. */
  digits: string;
  /** Power of ten of the first digit. */
  exponent: number;
}

/** Digits behind the first that tell a half from what is next to it: a number has its last one long before. */
const EXACT = 60;

function rounded(value: number, most: number): Rounded {
  const [mantissa = '', power = '0'] = Math.abs(value).toExponential(EXACT).split('e');
  const all = mantissa.replace('.', '');
  const half = `5${'0'.repeat(EXACT - most)}`;
  const rest = all.slice(most);
  let kept = Number(all.slice(0, most));
  if (rest > half || (rest === half && kept % 2 === 1)) kept += 1;
  const digits = String(kept);
  return { negative: value < 0 || Object.is(value, -0), digits: digits.replace(/(?!^)0+$/, ''), exponent: Number(power) + digits.length - (value === 0 ? 1 : most) };
}

/** Without an exponent. */
function plain({ digits, exponent }: Rounded): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const part = digits.slice(exponent + 1);
  return part ? `${whole}.${part}` : whole;
}

function scientific({ digits, exponent }: Rounded, width: number): string {
  const part = digits.length > 1 ? `.${digits.slice(1)}` : '';
  return `${digits[0]}${part}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(width, '0')}`;
}

/** Python's `%.{most}g`. */
export function general(value: number, most: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  const number = rounded(value, most);
  const told = number.exponent < -4 || number.exponent >= most ? scientific(number, 2) : plain(number);
  return number.negative ? `-${told}` : told;
}

/** A relative error as so many hundredths, without an exponent unless that would be a row of zeros. */
export function hundredths(value: number, most: number): string {
  const number = rounded(value * 100, most);
  if (number.digits !== '0' && (number.exponent < -9 || number.exponent >= 9)) return `${scientific(number, 1)} %`;
  const [whole = '', part] = plain(number).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${part ? `${grouped}.${part}` : grouped} %`;
}
