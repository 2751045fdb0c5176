/** What a person likes, kept by the browser from visit to visit. */

import { pickLanguage, type Language } from './i18n';

type ThemeName = 'light' | 'dark' | 'auto';

export class Preferences {
  lang = $state<Language>(pickLanguage());
  theme = $state<ThemeName>(recall('theme', 'auto') as ThemeName);
  /** Opening a node opens its counterpart. */
  syncOpen = $state(recall('sync', '1') === '1');
  /** Moving and zooming one pane moves the other. */
  lockPanes = $state(recall('lock', '0') === '1');
  /** The wheel zooms instead of scrolling. */
  wheelZooms = $state(recall('wheel', '0') === '1');
  showMap = $state(recall('map', '1') === '1');
  /** Height of the node panel and width of the panel at the side, pixels. */
  detailsHeight = $state(Number(recall('details', '300')));
  panelWidth = $state(Number(recall('panel', '300')));

  keep(name: string, value: string): void {
    try {
      localStorage.setItem(`msprobe.${name}`, value);
    } catch {
      // Private windows may refuse; the preference then lasts as long as the page.
    }
  }
}

function recall(name: string, otherwise: string): string {
  try {
    return localStorage.getItem(`msprobe.${name}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}
