/** What of a drawing is told to screen readers: the boxes that can be seen, in drawing order. */

import { visible, type Layout } from './layout';
import type { View } from './paint';
import type { TreeNode } from './tree';

/** Most boxes that are told; a selected one always is. */
const MOST = 150;

export interface Mirrored {
  node: TreeNode;
  open: boolean;
  /** Left, top, width, height on the screen, pixels. */
  box: string;
}

export function mirrored(layout: Layout, view: View, width: number, height: number, selected: number): Mirrored[] {
  const seen: Mirrored[] = [];
  const left = -view.tx / view.k;
  const top = -view.ty / view.k;
  visible(layout, left, top, left + width / view.k, top + height / view.k, (at) => {
    const node = layout.node[at] as TreeNode;
    if ((layout.gapFrom[at] as number) >= 0 || (seen.length >= MOST && node.id !== selected)) return;
    const [x, y, w, h] = [layout.x, layout.y, layout.w, layout.h].map((column) => column[at] as number) as [number, number, number, number];
    const box = [x * view.k + view.tx, y * view.k + view.ty, w * view.k, h * view.k].map((value) => Math.round(value)).join(',');
    seen.push({ node, open: layout.open[at] === 1, box });
  });
  return seen;
}
