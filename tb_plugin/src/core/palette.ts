/**
 * The one palette, for canvas and style sheet alike. Hues are apart for colour-blind eyes (teal, amber, vermilion, slate), every
 * status also has a letter, and text on a fill keeps a contrast of at least 4.5.
 */

export interface Tone {
  fill: string;
  edge: string;
  text: string;
}

export interface Palette {
  page: string;
  card: string;
  sunken: string;
  line: string;
  ink: string;
  faint: string;
  accent: string;
  accentSoft: string;
  twin: string;
  box: string;
  boxAlt: string;
  /** By status: not compared, pass, warning, error, unmatched. */
  status: Tone[];
  /** By level: none, medium, high, critical. */
  overflow: Tone[];
}

export const STATUS_NAMES = ['none', 'pass', 'warning', 'error', 'unmatched'] as const;
export const OVERFLOW_NAMES = ['none', 'medium', 'high', 'critical'] as const;
/** Readable without colour. */
export const STATUS_MARKS = ['·', '✓', '!', '✕', '∅'] as const;
export const OVERFLOW_MARKS = ['·', 'M', 'H', 'C'] as const;

const LIGHT: Palette = {
  page: '#f6f7f9',
  card: '#ffffff',
  sunken: '#eef0f4',
  line: '#dde1e8',
  ink: '#1c2330',
  faint: '#5d6778',
  accent: '#3457d5',
  accentSoft: '#e4e9fb',
  twin: '#8a5cd6',
  box: '#ffffff',
  boxAlt: '#f7f8fb',
  status: [
    { fill: '#f3f4f7', edge: '#c3c9d4', text: '#4a5363' },
    { fill: '#e3f3ee', edge: '#3a9c84', text: '#17584a' },
    { fill: '#fdedc8', edge: '#d99413', text: '#6f4703' },
    { fill: '#fcdcd3', edge: '#d4432a', text: '#84200f' },
    { fill: '#e3e6ec', edge: '#7b8698', text: '#3a4352' },
  ],
  overflow: [
    { fill: '#f3f4f7', edge: '#c3c9d4', text: '#4a5363' },
    { fill: '#dcecfb', edge: '#5ba0e0', text: '#1c4a77' },
    { fill: '#a9d0f5', edge: '#2f7fcb', text: '#0d3256' },
    { fill: '#1f66b5', edge: '#0f3f78', text: '#ffffff' },
  ],
};

const DARK: Palette = {
  page: '#14171c',
  card: '#1c2027',
  sunken: '#11141a',
  line: '#313843',
  ink: '#e6eaf0',
  faint: '#98a2b3',
  accent: '#86a5ff',
  accentSoft: '#25304f',
  twin: '#c39bff',
  box: '#20252d',
  boxAlt: '#1a1e25',
  status: [
    { fill: '#282e38', edge: '#4a5361', text: '#b8c1cf' },
    { fill: '#17362f', edge: '#3fae93', text: '#a6e3d2' },
    { fill: '#43330f', edge: '#e0a428', text: '#f7dd9d' },
    { fill: '#4b1f17', edge: '#ee6a50', text: '#ffc4b6' },
    { fill: '#333b48', edge: '#8e9aad', text: '#d3dae5' },
  ],
  overflow: [
    { fill: '#282e38', edge: '#4a5361', text: '#b8c1cf' },
    { fill: '#1c3347', edge: '#4f93cf', text: '#b7dcfb' },
    { fill: '#1d4a73', edge: '#62acec', text: '#d3eaff' },
    { fill: '#3c8fe6', edge: '#a8d3ff', text: '#06182c' },
  ],
};

export function palette(dark: boolean): Palette {
  return dark ? DARK : LIGHT;
}

/** The palette as variables of the style sheet. */
export function variables(colours: Palette): string {
  const plain = ['page', 'card', 'sunken', 'line', 'ink', 'faint', 'accent', 'twin', 'box'] as const;
  const parts = plain.map((name) => `--${name}:${colours[name]}`);
  parts.push(`--accent-soft:${colours.accentSoft}`);
  for (const [kind, tones, names] of [
    ['status', colours.status, STATUS_NAMES],
    ['overflow', colours.overflow, OVERFLOW_NAMES],
  ] as const) {
    tones.forEach((tone, at) => {
      parts.push(`--${kind}-${names[at]}:${tone.fill}`, `--${kind}-${names[at]}-edge:${tone.edge}`, `--${kind}-${names[at]}-text:${tone.text}`);
    });
  }
  return parts.join(';');
}

/** How bad a status is, the least first: not compared, pass, unmatched, warning, error. */
export const RANK: readonly number[] = [0, 1, 3, 4, 2];

/** The worse of two statuses: error, warning, unmatched, pass, nothing. */
export function worse(one: number, two: number): number {
  return (RANK[one] ?? 0) >= (RANK[two] ?? 0) ? one : two;
}
