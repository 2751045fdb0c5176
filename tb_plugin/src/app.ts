import './style.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { Client } from './core/api';
import { API, type Early } from './core/early';
import { Store } from './core/store.svelte';

/** Puts the viewer into `place`. */
export function start(place: HTMLElement, early: Early): void {
  const store = new Store(new Client(API, early));
  mount(App, { target: place, props: { store } });
}
