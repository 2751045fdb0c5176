import './style.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { Client } from './core/api';
import { Store } from './core/store.svelte';

/** Puts the viewer into `place`. */
export function start(place: HTMLElement): void {
  const store = new Store(new Client(new URL('../api/', import.meta.url)));
  mount(App, { target: place, props: { store } });
}
