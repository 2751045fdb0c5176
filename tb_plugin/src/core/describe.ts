/** What a box shows by colour and marks, as words. */

import { OVERFLOW_NAMES, STATUS_NAMES } from './palette';
import type { Store } from './store.svelte';
import type { TreeNode } from './tree';

/** Follows the node's name: `, error, 2 warnings inside`. */
export function describe(store: Store, node: TreeNode): string {
  const parts = [''];
  if (store.colouring === 'overflow') parts.push(store.t(`overflow.${OVERFLOW_NAMES[node.overflow] ?? 'none'}`));
  else if (store.compare) parts.push(store.t(`status.${STATUS_NAMES[node.status] ?? 'none'}`));
  const [warnings, errors, unmatched] = node.below;
  if (warnings + errors + unmatched > 0) parts.push(store.t('inside', { errors, warnings, unmatched }));
  return parts.join(', ');
}
