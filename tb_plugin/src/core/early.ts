/** The first question of a page goes out while the viewer's code is still on its way. */

import { decodeOpen, readAddress, type Place } from './url';

/** Where the server answers, seen from any file of the front end. */
export const API = new URL(import.meta.url.replace(/(static\/)?[^/]*$/, 'api/'));

/** What is asked first at a place. */
export function startAddress(place: Place): URL {
  const url = new URL('start', API);
  const query = { path: place.file, step: place.step, rank: place.rank, micro: place.micro, open: decodeOpen(place.open).join(',') };
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== '') url.searchParams.set(name, String(value));
  return url;
}

export interface Early {
  address: string;
  answer: Promise<Response>;
}

export function askEarly(): Early {
  const url = startAddress(readAddress());
  const answer = fetch(url, { credentials: 'same-origin' });
  // Whoever takes the answer hears of its failure; nobody else shall.
  answer.catch(() => undefined);
  return { address: url.href, answer };
}
