import { askEarly } from './core/early';

/** What TensorBoard imports and calls inside the plugin's iframe. */
export async function render(): Promise<void> {
  const early = askEarly();
  const { start } = await import('./app');
  start(document.body, early);
}
