/** How names are shown: labels of boxes, cutting in the middle, frames of the user's own code. */

/** The short label of a node below the first level, by the rules users of the reference know. */
export function label(name: string, kind: number, top: boolean): string {
  if (top) return name;
  // Modules show four parts, others two; one more where the first of them is a number.
  const shown = kind === 0 ? 4 : 2;
  let begin = name.length + 1;
  for (let part = 0; part < shown; part += 1) {
    if (begin === 0) return name;
    begin = name.lastIndexOf('.', begin - 2) + 1;
  }
  const first = name.slice(begin, name.indexOf('.', begin));
  if (!/^\d+$/.test(first)) return name.slice(begin);
  return begin === 0 ? name : name.slice(name.lastIndexOf('.', begin - 2) + 1);
}

/** Cuts a text in the middle, so that its beginning and its call number stay readable. */
export function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  if (most < 3) return '…';
  const tail = Math.ceil((most - 1) * 0.6);
  const head = most - 1 - tail;
  return `${text.slice(0, head)}…${text.slice(text.length - tail)}`;
}

interface Frame {
  text: string;
  file: string;
  line: number | null;
  code: string;
  /** Whether the frame belongs to a framework or to Python itself. */
  library: boolean;
}

/** The rule of the report, so that both name the same line: installed packages that hold models are no library. */
function isLibrary(file: string): boolean {
  const ofPython = file.includes('/lib/python') && !file.includes('-packages/');
  return ofPython || file.startsWith('<frozen') || /\/(?:torch|torch_npu|mindspore|msprobe|megatron\/core\/tensor_parallel|mindtorch)\//.test(file);
}

/** Splits a frame of a recorded stack: `File <path>, line <n>, in <function>, \n <code>`. */
export function frame(text: string): Frame {
  const found = /^File "?(.+?)"?, line (\d+), in ([^\n]*?),?\s*(?:\n\s*([\s\S]*))?$/.exec(text.trim());
  if (!found) return { text, file: '', line: null, code: '', library: false };
  const file = found[1] ?? '';
  return { text, file, line: Number(found[2]), code: (found[4] ?? '').trim(), library: isLibrary(file) };
}

/** The frame that a reader wants first: the innermost one outside of frameworks. */
export function userFrame(stack: readonly string[]): Frame | null {
  const frames = stack.map(frame);
  return frames.find((one) => one.file !== '' && !one.library) ?? frames.find((one) => one.file !== '') ?? null;
}

const CHARACTER = 6.7;
const WIDE_CHARACTER = 11.5;

/** Units that a text takes at the size of the drawing, near enough to lay boxes out. */
export function textWidth(text: string): number {
  let wide = 0;
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x2e80) wide += 1;
  return (text.length - wide) * CHARACTER + wide * WIDE_CHARACTER;
}
