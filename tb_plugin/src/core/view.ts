/** Moving and zooming a drawing. Pure functions of a view; the pane owns the current one. */

import type { View } from './paint';

const SMALLEST = 0.05;
const LARGEST = 4;

export function zoomAt(view: View, x: number, y: number, factor: number): View {
  const k = Math.min(LARGEST, Math.max(SMALLEST, view.k * factor));
  const real = k / view.k;
  return { k, tx: x - (x - view.tx) * real, ty: y - (y - view.ty) * real };
}

/** Shows a rectangle of the drawing whole, with a margin, never larger than `most`. */
export function fit(
  box: { x: number; y: number; w: number; h: number },
  width: number,
  height: number,
  most = 1.2,
  margin = 16,
): View {
  const k = Math.min((width - 2 * margin) / Math.max(1, box.w), (height - 2 * margin) / Math.max(1, box.h), most);
  const bounded = Math.min(LARGEST, Math.max(SMALLEST, k));
  return {
    k: bounded,
    tx: (width - box.w * bounded) / 2 - box.x * bounded,
    ty: Math.max(margin, (height - box.h * bounded) / 2) - box.y * bounded,
  };
}

/** Fits the width and starts at the top: how a fresh graph is shown. */
export function fitWidth(box: { w: number; h: number }, width: number, margin = 16): View {
  const k = Math.min(1, Math.max(0.55, (width - 2 * margin) / Math.max(1, box.w)));
  return { k, tx: Math.max(margin, (width - box.w * k) / 2), ty: margin };
}

/** Moves as little as needed so that a box is in sight, its top a fifth below the upper edge when it must move. */
export function bringIntoView(
  view: View,
  box: { x: number; y: number; w: number; h: number },
  width: number,
  height: number,
  whole = Number.POSITIVE_INFINITY,
): View {
  let { tx, ty } = view;
  const { k } = view;
  const top = box.y * k + ty;
  const shownHeight = Math.min(box.h * k, 60);
  if (top < 30 || top + shownHeight > height - 24) ty = height * 0.28 - box.y * k;
  const left = box.x * k + tx;
  const right = left + Math.min(box.w * k, width - 40);
  // A drawing that fits stands in the middle; a wider one moves just enough.
  if (whole * k <= width - 24) tx = (width - whole * k) / 2;
  else if (left < 12) tx += 16 - left;
  else if (right > width - 8) tx -= right - width + 16;
  return { k, tx, ty };
}

/** Keeps a part of the drawing on the screen. */
export function keepInSight(view: View, w: number, h: number, width: number, height: number): View {
  const keep = 80;
  return {
    k: view.k,
    tx: Math.min(width - keep, Math.max(keep - w * view.k, view.tx)),
    ty: Math.min(height - keep, Math.max(keep - h * view.k, view.ty)),
  };
}
