/** Plain parts of the store: shapes of its fields, and errors as a person reads them. */

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

export const noFilter = (): Filter => ({ q: '', side: 'target', status: [], overflow: [], kind: [], leaves: false, sort: 'order' });

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

export function asProblem(error: unknown): Problem {
  if (error instanceof ApiError) return { code: error.code, message: error.message };
  return { code: 'internal', message: String(error) };
}
