/** Draws the visible part of a layout onto a canvas. The cost is what is on the screen, never what is in the file. */

import { indexOf, LEAF, TITLE, visible, type Layout } from './layout';
import { cutMiddle } from './names';
import { OVERFLOW_MARKS, STATUS_MARKS, type Palette, type Tone } from './palette';
import type { TreeNode } from './tree';
import type { Colouring } from './types';

export interface View {
  /** Screen = drawing * k + t. */
  tx: number;
  ty: number;
  k: number;
}

export interface Scene {
  layout: Layout;
  view: View;
  width: number;
  height: number;
  colours: Palette;
  colouring: Colouring;
  compare: boolean;
  selected: number;
  twin: number;
  hover: number;
  focused: boolean;
  moreText: (count: number) => string;
}

const FONT = '"Inter", system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif';
/** Letters smaller than this on the screen cannot be read and are not drawn. */
const SMALLEST_TEXT = 5;

export function tone(node: TreeNode, scene: Pick<Scene, 'colours' | 'colouring'>): Tone {
  const tones = scene.colouring === 'overflow' ? scene.colours.overflow : scene.colours.status;
  return tones[scene.colouring === 'overflow' ? node.overflow : node.status] ?? (tones[0] as Tone);
}

function mark(node: TreeNode, colouring: Colouring): string {
  return colouring === 'overflow' ? (OVERFLOW_MARKS[node.overflow] ?? '') : (STATUS_MARKS[node.status] ?? '');
}

/** Draws one frame and returns how many boxes it drew. */
export function paint(context: CanvasRenderingContext2D, scene: Scene, ratio: number): number {
  const { layout, view, colours } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.page;
  context.fillRect(0, 0, scene.width, scene.height);
  context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.tx, ratio * view.ty);
  context.textBaseline = 'middle';
  const readable = 11 * view.k >= SMALLEST_TEXT;
  let drawn = 0;
  const stuck: [number, number][] = [];
  const left = -view.tx / view.k;
  const top = -view.ty / view.k;
  visible(layout, left, top, left + scene.width / view.k, top + scene.height / view.k, (at) => {
    drawn += 1;
    if ((layout.gapFrom[at] as number) >= 0) paintGap(context, scene, at, readable);
    else if ((layout.node[at] as TreeNode).kids === 0) paintLeaf(context, scene, at, readable);
    else {
      paintBlock(context, scene, at);
      if (!readable) return;
      // The title of a tall open box stays in sight, over what scrolls by inside it.
      const y = layout.y[at] as number;
      const titleY = layout.open[at] === 1 ? Math.min(Math.max(y, top), y + (layout.h[at] as number) - TITLE) : y;
      if (titleY > y) stuck.push([at, titleY]);
      else paintTitle(context, scene, at, y);
    }
  });
  for (const [at, y] of stuck) {
    context.fillStyle = tone(layout.node[at] as TreeNode, scene).fill;
    context.fillRect((layout.x[at] as number) + 0.5, y, (layout.w[at] as number) - 1, TITLE);
    paintTitle(context, scene, at, y);
  }
  for (const [id, colour, dash] of [
    [scene.twin, colours.twin, true],
    [scene.selected, colours.accent, false],
  ] as const) {
    const at = indexOf(layout, id);
    if (at >= 0) outline(context, layout, at, colour, dash, view.k, scene.focused);
  }
  return drawn;
}

/** Gives a canvas as many pixels as its place on the screen has. */
export function resize(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
}

function rounded(context: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, radius: number): void {
  context.beginPath();
  context.roundRect(x, y, w, h, radius);
}

function paintLeaf(context: CanvasRenderingContext2D, scene: Scene, at: number, readable: boolean): void {
  const { layout, view } = scene;
  const node = layout.node[at] as TreeNode;
  const [x, y, w, h] = box(layout, at);
  const colours = tone(node, scene);
  context.fillStyle = colours.fill;
  if (!readable && view.k < 0.3) {
    context.fillStyle = colours.edge;
    context.fillRect(x, y, w, h);
    return;
  }
  rounded(context, x, y, w, h, LEAF / 2);
  context.fill();
  context.strokeStyle = colours.edge;
  context.lineWidth = scene.hover === node.id ? 1.6 : 0.9;
  if (node.status === 4 && scene.colouring === 'verdict') context.setLineDash([3, 2]);
  context.stroke();
  context.setLineDash([]);
  if (!readable) return;
  context.fillStyle = colours.text;
  context.font = `600 9px ${FONT}`;
  const sign = scene.compare || scene.colouring === 'overflow' ? mark(node, scene.colouring) : '';
  const shownSign = sign === '·' ? '' : sign;
  if (shownSign) context.fillText(shownSign, x + 8, y + h / 2 + 0.5);
  context.font = `11px ${FONT}`;
  write(context, node.label, shownSign ? x + 18 : x + 10, y + h / 2 + 0.5, w - (shownSign ? 24 : 18));
}

function paintBlock(context: CanvasRenderingContext2D, scene: Scene, at: number): void {
  const { layout, colours } = scene;
  const node = layout.node[at] as TreeNode;
  const [x, y, w, h] = box(layout, at);
  const own = tone(node, scene);
  const open = layout.open[at] === 1;
  const collection = node.kind === 9 || node.kind === 8;
  rounded(context, x, y, w, h, 6);
  context.fillStyle = open ? (node.depth % 2 ? colours.boxAlt : colours.box) : own.fill;
  context.fill();
  if (open) {
    rounded(context, x, y, w, TITLE, [6, 6, 0, 0] as unknown as number);
    context.fillStyle = own.fill;
    context.fill();
  }
  rounded(context, x, y, w, h, 6);
  context.strokeStyle = own.edge;
  context.lineWidth = scene.hover === node.id ? 1.8 : 1;
  if (collection) context.setLineDash(node.kind === 9 ? [8, 3] : [3, 2]);
  else if (node.status === 4 && scene.colouring === 'verdict') context.setLineDash([3, 2]);
  context.stroke();
  context.setLineDash([]);
  if (!open) stripe(context, scene, node, x, y, w, h);
}

/** Twist, mark and label of a box with children, at a height of its own; counts of what is inside where it is closed. */
function paintTitle(context: CanvasRenderingContext2D, scene: Scene, at: number, titleY: number): void {
  const { layout, view } = scene;
  const node = layout.node[at] as TreeNode;
  const [x, , w] = box(layout, at);
  const own = tone(node, scene);
  const open = layout.open[at] === 1;
  const middle = titleY + TITLE / 2 + 0.5;
  context.fillStyle = own.text;
  context.strokeStyle = own.text;
  context.lineWidth = 1.4;
  context.beginPath();
  if (open) {
    context.moveTo(x + 8, middle - 2);
    context.lineTo(x + 11.5, middle + 2);
    context.lineTo(x + 15, middle - 2);
  } else {
    context.moveTo(x + 9.5, middle - 3.5);
    context.lineTo(x + 13.5, middle);
    context.lineTo(x + 9.5, middle + 3.5);
  }
  context.stroke();
  let room = w - 30;
  if (!open) room -= badges(context, scene, node, x + w - 12, middle);
  const sign = scene.compare || scene.colouring === 'overflow' ? mark(node, scene.colouring) : '';
  let textX = x + 20;
  if (sign && sign !== '·') {
    context.font = `700 10px ${FONT}`;
    context.fillStyle = own.text;
    context.fillText(sign, textX, middle);
    textX += 13;
    room -= 13;
  }
  context.fillStyle = own.text;
  context.font = `${open ? 600 : 500} 11px ${FONT}`;
  write(context, node.label, textX, middle, room);
  if (node.edited && view.k > 0.6) {
    context.beginPath();
    context.arc(x + 4.5, middle, 2, 0, 7);
    context.fill();
  }
}

/** A closed box never lies: a stripe shows the worst inside it. */
function stripe(context: CanvasRenderingContext2D, scene: Scene, node: TreeNode, x: number, y: number, w: number, h: number): void {
  const overflow = scene.colouring === 'overflow';
  const worst = overflow ? node.flood : node.worst;
  if (worst === 0) return;
  const tones = overflow ? scene.colours.overflow : scene.colours.status;
  context.save();
  rounded(context, x, y, w, h, 6);
  context.clip();
  context.fillStyle = (tones[worst] as Tone).edge;
  context.fillRect(x + w - 5, y, 5, h);
  context.restore();
}

/** Counts of errors, warnings and unmatched inside, from the right; returns the width they take. */
function badges(context: CanvasRenderingContext2D, scene: Scene, node: TreeNode, right: number, middle: number): number {
  if (scene.colouring === 'overflow') return 0;
  let x = right;
  const [warnings, errors, unmatched] = node.below;
  context.font = `600 9.5px ${FONT}`;
  for (const [count, status] of [
    [unmatched, 4],
    [warnings, 2],
    [errors, 3],
  ] as const) {
    if (count === 0) continue;
    const colours = scene.colours.status[status] as Tone;
    const text = `${STATUS_MARKS[status]}${count}`;
    const width = context.measureText(text).width + 10;
    x -= width;
    rounded(context, x, middle - 7, width - 2, 13, 6.5);
    context.fillStyle = colours.edge;
    context.fill();
    context.fillStyle = scene.colours.card;
    context.fillText(text, x + 4, middle + 0.5);
  }
  return right - x;
}

function paintGap(context: CanvasRenderingContext2D, scene: Scene, at: number, readable: boolean): void {
  const [x, y, w, h] = box(scene.layout, at);
  rounded(context, x, y, w, h, 4);
  context.strokeStyle = scene.colours.faint;
  context.lineWidth = 0.8;
  context.setLineDash([2, 3]);
  context.stroke();
  context.setLineDash([]);
  if (!readable) return;
  context.fillStyle = scene.colours.faint;
  context.font = `italic 11px ${FONT}`;
  write(context, scene.moreText(scene.layout.gapSize[at] as number), x + 8, y + h / 2 + 0.5, w - 12);
}

function outline(
  context: CanvasRenderingContext2D,
  layout: Layout,
  at: number,
  colour: string,
  dash: boolean,
  k: number,
  focused: boolean,
): void {
  const [x, y, w, h] = box(layout, at);
  const leaf = (layout.node[at] as TreeNode).kids === 0;
  const width = Math.max(2, 2 / k);
  rounded(context, x - width / 2, y - width / 2, w + width, h + width, leaf ? LEAF / 2 + 1 : 7);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash ? [6 / k, 3 / k] : []);
  context.stroke();
  context.setLineDash([]);
  if (!dash && focused) {
    rounded(context, x - width * 2, y - width * 2, w + width * 4, h + width * 4, leaf ? LEAF / 2 + 3 : 9);
    context.globalAlpha = 0.3;
    context.stroke();
    context.globalAlpha = 1;
  }
}

export function box(layout: Layout, at: number): [number, number, number, number] {
  return [layout.x[at] as number, layout.y[at] as number, layout.w[at] as number, layout.h[at] as number];
}

function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
  let shown = text;
  const wide = context.measureText(shown).width;
  if (wide > room) shown = cutMiddle(text, Math.max(1, Math.floor((text.length * room) / wide)));
  context.fillText(shown, x, y);
}
