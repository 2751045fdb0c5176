/** Plain parts of the store: shapes of its fields, errors as a person reads them, and what the browser remembers. */

import { ApiError } from './api';
import type { SideName } from './types';

export interface Filter {
  q: string;
  side: SideName;
  status: string[];
  overflow: string[];
  kind: string[];
  leaves: boolean;
  sort: 'order' | 'worst' | 'name';
}

export interface Selection {
  side: SideName;
  id: number;
  name: string;
}

export interface Problem {
  code: string;
  message: string;
}

export type PanelName = 'find' | 'match' | '';
export type ThemeName = 'light' | 'dark' | 'auto';

export function asProblem(error: unknown): Problem {
  if (error instanceof ApiError) return { code: error.code, message: error.message };
  return { code: 'internal', message: String(error) };
}

/** A preference that the browser keeps. */
export function recall(name: string, otherwise: string): string {
  try {
    return localStorage.getItem(`msprobe.${name}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}
