/** Pointers, wheel and pinch over a drawing, as movements of its view. */

import type { View } from './paint';
import { zoomAt } from './view';

/** Pixels a pointer may stray and still have clicked. */
const STRAY = 4;

interface Ground {
  /** The view now. */
  view(): View;
  move(view: View): void;
  /** Where an event is, seen from the drawing's corner. */
  local(event: { clientX: number; clientY: number }): [number, number];
}

export class Hands {
  private readonly pointers = new Map<number, { clientX: number; clientY: number }>();
  private moved = 0;

  constructor(private readonly ground: Ground) {}

  down(event: PointerEvent): void {
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { clientX: event.clientX, clientY: event.clientY });
    this.moved = 0;
  }

  /** Moves or pinches; false if no pointer is down. */
  drag(event: PointerEvent): boolean {
    const before = this.pointers.get(event.pointerId);
    if (!before) return false;
    const now = { clientX: event.clientX, clientY: event.clientY };
    const view = this.ground.view();
    const rest = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (rest) {
      const spread = (one: typeof now): number => Math.hypot(one.clientX - rest.clientX, one.clientY - rest.clientY);
      const [x, y] = this.ground.local({ clientX: (now.clientX + rest.clientX) / 2, clientY: (now.clientY + rest.clientY) / 2 });
      this.moved += 2 * STRAY;
      this.ground.move(zoomAt(view, x, y, spread(now) / Math.max(1, spread(before))));
    } else {
      const [dx, dy] = [now.clientX - before.clientX, now.clientY - before.clientY];
      this.moved += Math.abs(dx) + Math.abs(dy);
      if (this.moved > STRAY) this.ground.move({ ...view, tx: view.tx + dx, ty: view.ty + dy });
    }
    this.pointers.set(event.pointerId, now);
    return true;
  }

  /** Whether the pointer that goes up has clicked rather than dragged. */
  up(event: PointerEvent): boolean {
    this.pointers.delete(event.pointerId);
    return this.moved <= STRAY && event.button !== 2;
  }

  wheel(event: WheelEvent, height: number, zooms: boolean): void {
    const view = this.ground.view();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? height : 1;
    const [x, y] = this.ground.local(event);
    if (event.ctrlKey || event.metaKey || zooms) {
      const delta = Math.max(-160, Math.min(160, event.deltaY * unit));
      this.ground.move(zoomAt(view, x, y, Math.exp(-delta * (event.ctrlKey ? 0.006 : 0.0022))));
    } else if (event.shiftKey && event.deltaX === 0) this.ground.move({ ...view, tx: view.tx - event.deltaY * unit });
    else this.ground.move({ ...view, tx: view.tx - event.deltaX * unit, ty: view.ty - event.deltaY * unit });
  }
}
