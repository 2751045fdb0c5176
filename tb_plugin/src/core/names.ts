/** How names are shown: labels of boxes, cutting in the middle, frames of the user's own code. */

/** The short label of a node below the first level, by the rules users of the reference know. */
export function label(name: string, kind: number, top: boolean): string {
  if (top) return name;
  const parts = name.split('.');
  const digits = (part: string | undefined): boolean => part !== undefined && /^\d+$/.test(part);
  const last = (count: number): string => parts.slice(-count).join('.');
  if (kind === 0) {
    if (parts.length < 4) return name;
    if (!digits(parts.at(-4))) return last(4);
    return parts.length > 4 ? last(5) : name;
  }
  if (parts.length < 2) return name;
  if (!digits(parts.at(-2))) return last(2);
  return parts.length > 2 ? last(3) : name;
}

/** Cuts a text in the middle, so that its beginning and its call number stay readable. */
export function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  if (most < 3) return '…';
  const tail = Math.ceil((most - 1) * 0.6);
  const head = most - 1 - tail;
  return `${text.slice(0, head)}…${text.slice(text.length - tail)}`;
}

export interface Frame {
  text: string;
  file: string;
  line: number | null;
  code: string;
  /** Whether the frame belongs to a framework or an installed package. */
  library: boolean;
}

/** Splits a frame of a recorded stack: `File <path>, line <n>, in <function>, \n <code>`. */
export function frame(text: string): Frame {
  const found = /^File "?(.+?)"?, line (\d+), in ([^\n]*?),?\s*(?:\n\s*([\s\S]*))?$/.exec(text.trim());
  if (!found) return { text, file: '', line: null, code: '', library: false };
  const file = found[1] ?? '';
  const library = /(?:site|dist)-packages|\/lib\/python|<frozen|[\\/](?:torch|mindspore|megatron|transformers)[\\/]/.test(file);
  return { text, file, line: Number(found[2]), code: (found[4] ?? '').trim(), library };
}

/** The frame that a reader wants first: the innermost one outside of installed packages. */
export function userFrame(stack: readonly string[]): Frame | null {
  const frames = stack.map(frame);
  return frames.find((one) => one.file !== '' && !one.library) ?? frames.find((one) => one.file !== '') ?? null;
}

const CHARACTER = 6.7;
const WIDE_CHARACTER = 11.5;

/** Units that a text takes at the size of the drawing, near enough to lay boxes out. */
export function textWidth(text: string): number {
  let width = 0;
  for (let at = 0; at < text.length; at += 1) width += text.charCodeAt(at) > 0x2e80 ? WIDE_CHARACTER : CHARACTER;
  return width;
}
