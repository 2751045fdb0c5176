/** Goes to a communication partner on another rank, exactly when its data is there. */

import type { Partner } from './communication';
import type { Store } from './store.svelte';
import type { SideName } from './types';

export async function followPartner(store: Store, side: SideName, partner: Partner): Promise<void> {
  await store.travel(async () => {
    if (partner.rank !== store.rank) {
      store.clearSelection();
      await store.setGraph(store.step, partner.rank, store.micro);
    }
    if (!store.problem) await store.selectByName(side, partner.name);
  });
}
