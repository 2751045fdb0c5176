/** Where a person is, as a link holds it, and going to such a place. */

import type { Store } from './store.svelte';
import type { SideName, ViewName } from './types';
import { encodeOpen, type Place } from './url';

export function placeOf(store: Store): Place {
  const { forest, info, selected, filter } = store;
  return {
    file: store.path,
    step: info ? store.step : null,
    rank: info ? store.rank : null,
    micro: store.micro,
    view: store.view,
    side: selected?.side ?? 'target',
    node: selected?.name ?? '',
    colouring: store.colouring,
    q: filter.q,
    status: filter.status.join('.'),
    overflow: filter.overflow.join('.'),
    open: encodeOpen(forest.target.open, forest.golden.open),
  };
}

export async function goTo(store: Store, place: Place): Promise<void> {
  await store.travel(() => goThere(store, place));
}

async function goThere(store: Store, place: Place): Promise<void> {
  store.view = (['graph', 'diff', 'overview', 'convert'].includes(place.view) ? place.view : 'graph') as ViewName;
  store.filter.q = place.q;
  store.filter.status = place.status ? place.status.split('.') : [];
  store.filter.overflow = place.overflow ? place.overflow.split('.') : [];
  const side: SideName = place.side === 'golden' ? 'golden' : 'target';
  if (place.file !== store.path || !store.info) await store.openFile(place.file, place);
  else if (place.step !== store.step || place.rank !== store.rank || place.micro !== store.micro) {
    store.clearSelection();
    await store.setGraph(place.step ?? store.step, place.rank ?? store.rank, place.micro, place.open);
  }
  if (place.node !== '' && place.node !== store.selected?.name) await store.selectByName(side, place.node);
  else if (place.node === '') store.clearSelection();
}
