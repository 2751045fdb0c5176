/** Keys that work everywhere. Keys of the graph itself are handled by the pane that has the focus, and only there. */

import type { Store } from './store.svelte';

function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof HTMLElement ? target : null;
  return element !== null && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));
}

export function keyAction(event: KeyboardEvent, store: Store): void {
  const find = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
  if (find || (event.key === '/' && !isTyping(event.target))) {
    event.preventDefault();
    openFind(store);
    return;
  }
  if (event.key === 'Escape') {
    store.helpOpen = false;
    store.notice = null;
    return;
  }
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  switch (event.key) {
    case '?':
      store.helpOpen = !store.helpOpen;
      break;
    case '1':
      store.view = 'graph';
      break;
    case '2':
      if (store.compare) store.view = 'diff';
      break;
    case '3':
      store.view = 'overview';
      break;
    case 'n':
      void store.stepDifference(true);
      break;
    case 'p':
      void store.stepDifference(false);
      break;
    case '4':
      store.panel = store.panel === 'match' || !store.compare ? 'find' : 'match';
      break;
    case 'm':
      goToMatch(store);
      break;
    default:
      return;
  }
  event.preventDefault();
}

/** Shows the search and puts the cursor into it. */
export function openFind(store: Store): void {
  if (store.view === 'convert') store.view = 'graph';
  store.panel = 'find';
  setTimeout(() => {
    const field = document.querySelector<HTMLInputElement>('[data-testid="searchInput"]');
    field?.focus();
    field?.select();
  });
}

/** Selects the counterpart of the selected node, or of its nearest ancestor that has one. */
export function goToMatch(store: Store): void {
  const chosen = store.selected;
  if (!chosen || !store.compare) return;
  const side = chosen.side === 'target' ? 'golden' : 'target';
  let node = store.forest[chosen.side].byId.get(chosen.id) ?? null;
  while (node && node.pair === 0) node = node.parent;
  if (node) void store.jump(side, node.pair);
}
