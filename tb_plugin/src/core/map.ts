/** The map beside a drawing: the whole graph in a narrow column, however tall it is. */

import type { Layout } from './layout';
import { box, tone, type Scene } from './paint';
import { worse, RANK, type Tone } from './palette';

export function paintMap(
  context: CanvasRenderingContext2D,
  scene: Pick<Scene, 'layout' | 'colours' | 'colouring'>,
  width: number,
  height: number,
  ratio: number,
): void {
  const { layout, colours } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.sunken;
  context.fillRect(0, 0, width, height);
  if (layout.count === 0) return;
  const [sx, sy] = mapScale(layout, width, height);
  // Thousands of boxes share a pixel: each is filled by the worst of them, and no oftener than it gets worse. Of open boxes around
  // each other that look alike, the outermost is enough.
  const filled = new Uint8Array(Math.ceil(width) * Math.ceil(height));
  const overflow = scene.colouring === 'overflow';
  let around = '';
  let at = 0;
  while (at < layout.count) {
    const [x, y, w, h] = box(layout, at);
    const open = layout.open[at] === 1;
    const tall = h * sy;
    if ((layout.gapFrom[at] as number) < 0) {
      const node = layout.node[at] as Layout['node'][number];
      if (open) {
        const { fill } = tone(node, scene);
        const shape = `${Math.round(x * sx)} ${Math.round(y * sy)} ${Math.round((y + h) * sy)} ${fill}`;
        if (shape !== around) {
          context.fillStyle = fill;
          context.fillRect(x * sx, y * sy, Math.max(1, w * sx), Math.max(0.6, tall));
        }
        around = shape;
      } else {
        const worst = overflow ? Math.max(node.overflow, node.flood) : worse(node.status, node.worst);
        const pixel = Math.floor(y * sy) * Math.ceil(width) + Math.floor(x * sx);
        const rank = 1 + (overflow ? worst : (RANK[worst] ?? 0));
        if (tall >= 1 || rank > (filled[pixel] ?? 0)) {
          filled[pixel] = rank;
          context.fillStyle = ((overflow ? colours.overflow : colours.status)[worst] as Tone).edge;
          context.fillRect(x * sx, y * sy, Math.max(1, w * sx), Math.max(0.6, tall));
        }
      }
    }
    // What is lower than half a pixel has no inside to be seen.
    at = open && tall < 0.5 ? (layout.skip[at] as number) : at + 1;
  }
}

export function mapScale(layout: Layout, width: number, height: number): [number, number] {
  const sy = Math.min(height / Math.max(1, layout.height), 0.25);
  return [width / Math.max(1, layout.width), sy];
}
