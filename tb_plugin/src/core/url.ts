/**
 * Everything is a link: what is looked at lives in the address.
 *
 * Inside TensorBoard the address bar belongs to the parent page, whose hash begins with the plugin's name; ours goes behind it. As
 * a page of its own the viewer uses its own hash.
 */

export interface Place {
  file: string;
  step: number | null;
  rank: number | null;
  micro: number;
  view: string;
  side: string;
  node: string;
  colouring: string;
  q: string;
  status: string;
  overflow: string;
  /** Row numbers of opened nodes of both sides, base 36. */
  open: string;
}

export const NOWHERE: Place = {
  file: '',
  step: null,
  rank: null,
  micro: -1,
  view: 'graph',
  side: 'target',
  node: '',
  colouring: 'verdict',
  q: '',
  status: '',
  overflow: '',
  open: '',
};

const KEY = 'm.';
/** Opened nodes that go into a link; more make the address too long for mail. */
const MOST_OPEN = 150;

export function encode(place: Place): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(place)) {
    if (value === NOWHERE[name as keyof Place] || value === null) continue;
    parts.push(`${KEY}${name}=${encodeURIComponent(String(value))}`);
  }
  return parts.join('&');
}

export function decode(hash: string): Place {
  const place: Place = { ...NOWHERE };
  for (const part of hash.replace(/^#/, '').split('&')) {
    const at = part.indexOf('=');
    if (!part.startsWith(KEY) || at < 0) continue;
    const name = part.slice(KEY.length, at) as keyof Place;
    if (!(name in NOWHERE)) continue;
    let value: string;
    try {
      value = decodeURIComponent(part.slice(at + 1));
    } catch {
      continue;
    }
    if (name === 'step' || name === 'rank' || name === 'micro') {
      if (/^-?\d{1,15}$/.test(value)) place[name] = Number(value);
    } else place[name] = value;
  }
  return place;
}

export function encodeOpen(...open: Iterable<number>[]): string {
  const list: string[] = [];
  for (const ids of open) {
    for (const id of ids) {
      if (list.length >= MOST_OPEN) return list.join('.');
      list.push(id.toString(36));
    }
  }
  return list.join('.');
}

export function decodeOpen(text: string): number[] {
  if (text === '') return [];
  const ids = text.split('.').slice(0, MOST_OPEN).map((part) => Number.parseInt(part, 36));
  return ids.filter((id) => Number.isSafeInteger(id) && id > 0);
}

/** The window whose address a person sees and copies. */
function shown(): Window {
  try {
    if (window.parent !== window && window.parent.location.origin === window.location.origin) return window.parent;
  } catch {
    // Framed by another origin: our own address is all there is.
  }
  return window;
}

/** The part of the hash that is not ours, kept as it is: TensorBoard's plugin name. */
function foreign(hash: string): string {
  return hash
    .replace(/^#/, '')
    .split('&')
    .filter((part) => part !== '' && !part.startsWith(KEY))
    .join('&');
}

export function readAddress(): Place {
  return decode(shown().location.hash);
}

/** Writes the place; `step` makes it an entry of the history, so that "back" returns. */
export function writeAddress(place: Place, step: boolean): void {
  const target = shown();
  const parts = [foreign(target.location.hash), encode(place)].filter((part) => part !== '');
  const hash = `#${parts.join('&')}`;
  if (hash === target.location.hash) return;
  known = hash;
  const url = target.location.pathname + target.location.search + hash;
  if (step) target.history.pushState(target.history.state, '', url);
  else target.history.replaceState(target.history.state, '', url);
}

/** The hash as it was last written or heard of. */
let known = '';

export function onAddress(listener: () => void): () => void {
  const target = shown();
  // "Back" fires both events, and our own writing is no news.
  const changed = (): void => {
    if (target.location.hash === known) return;
    known = target.location.hash;
    listener();
  };
  target.addEventListener('popstate', changed);
  target.addEventListener('hashchange', changed);
  return () => {
    target.removeEventListener('popstate', changed);
    target.removeEventListener('hashchange', changed);
  };
}

export function link(): string {
  return shown().location.href;
}
