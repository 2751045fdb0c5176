/** Shapes of the server's answers. Columns are arrays of equal length; `below` has three entries a node. */

export type SideName = 'target' | 'golden';
export type ViewName = 'graph' | 'diff' | 'overview' | 'convert';
export type Colouring = 'verdict' | 'overflow';

/** 0 not compared, 1 pass, 2 warning, 3 error, 4 unmatched. */
type Status = number;

export interface NodeTable {
  id: number[];
  name: string[];
  kind: number[];
  kids: number[];
  status: Status[];
  overflow: number[];
  micro: number[];
  pair: number[];
  edited: number[];
  worst: Status[];
  flood: number[];
  below: number[];
}

interface ListedFile {
  path: string;
  size: number;
  modified: number;
  state: string;
}

export interface Listing {
  files: ListedFile[];
  truncated: boolean;
  unreadable: string[];
}

export interface FileInfo {
  path: string;
  version: string;
  size: number;
  compare: boolean;
  task: string;
  micro_steps: number;
  overflow_check: boolean;
  graphs: [number, number][];
  tool_tip: Record<string, string> | null;
  indexed: boolean;
  own_tables: string[];
  writable: boolean;
}

export interface Roots {
  target: NodeTable | null;
  golden: NodeTable | null;
  rolled: boolean;
}

/** Children of several nodes: one table, cut into a page per parent. */
export interface Children {
  answered: number;
  parent: number[];
  from: number[];
  count: number[];
  total: number[];
  nodes: NodeTable;
}

/** What a page asks first: the file, the step and rank that are shown, roots, and children of what is open. */
export interface Start {
  file: FileInfo;
  step: number;
  rank: number;
  micro: number;
  roots: Roots;
  children: Children;
}

interface Spot {
  id: number;
  name: string;
  order: number;
  status: Status;
  overflow: number;
  parent: string;
}

/** The row that shows a difference. */
export interface Evidence {
  /** Node of the row, if it is another one. */
  node: string | null;
  row: string;
  statistic: string;
  target: string;
  golden: string | null;
  error: number | null;
  noise: number;
  broken: string | null;
}

export interface Difference extends Omit<Spot, 'overflow'> {
  side: SideName;
  what: 'parameter' | 'argument' | 'structure' | 'input' | 'computation';
  inputs: { error: number; noise: number; only_extremes?: { row: string; dtype: string } | null } | null;
  evidence: Evidence | null;
  is_random: boolean;
  is_communication: boolean;
  /** The first target node without a partner that ran inside. */
  only_inside: OneSided | null;
  /** Golden nodes without a partner inside it, or before it. */
  only_golden: { place: 'inside' | 'before'; nodes: OneSided[]; more: boolean } | null;
  /** How often each side calls the API that differs, if unlike often. */
  unlike_calls: { api: string; target: number; golden: number } | null;
  /** The first target node that faces NaN or infinity in the golden run. */
  golden_overflow: OneSided | null;
}

/** A node that one side lacks, with the line that calls it. */
export interface OneSided {
  id: number;
  name: string;
  frame: { file: string; line: number } | null;
}

interface Counts {
  nodes: number;
  status: number[];
  overflow: number[];
  orphans: number;
}

export interface Summary {
  step: number;
  rank: number;
  target: Counts;
  golden: Counts;
  broken_links: number;
  first_verdict: Spot | null;
  first_overflow: Spot | null;
  difference_known: boolean;
  first_difference: Difference | null;
}

export interface Way {
  ids: number[];
  places: number[];
}

export interface WayAnswer {
  step: number;
  rank: number;
  side: SideName;
  name: string;
  own: Way;
  other: Way;
  exact: boolean;
  /** Rows of the aligned outline from its top to the node, target and golden id of each. */
  rows?: number[];
}

export interface Hits {
  total: number;
  from: number;
  id: number[];
  name: string[];
  kind: number[];
  status: Status[];
  overflow: number[];
  micro: number[];
  order: number[];
  pair: number[];
}

export interface Neighbour {
  total: number;
  place: number | null;
  hit: Hits | null;
}

type Row = Record<string, unknown>;

export interface RowPair {
  name: string;
  output: boolean;
  target: Row | null;
  golden: Row | null;
  golden_name?: string;
}

interface NodeInfo {
  id: number;
  name: string;
  side: SideName;
  step: number;
  rank: number;
  parent: string;
  order: number;
  kind: number;
  micro: number;
  status: Status;
  precision: number | null;
  overflow: number;
  edited: boolean;
  dump_dir: string;
  stack: string[];
  stack_known: boolean;
  merge: string[];
  communication: unknown;
  problems: string[];
}

export interface NodeAnswer {
  node: NodeInfo;
  other: NodeInfo | null;
  missing: string | null;
  columns: string[];
  rows: RowPair[];
  from: number;
  total: number;
}

interface PairRows {
  target: NodeTable;
  golden: NodeTable;
  moved: number[];
  dtype: string[];
  shape: string[];
  error: (number | null)[];
}

/** Children of several rows of the aligned outline: one table, cut into a page per row. */
export interface PairsAnswer {
  answered: number;
  from: number[];
  count: number[];
  total: number[];
  hidden: number[];
  rows: PairRows;
}

export interface DriftAnswer {
  total: number;
  from: number;
  to: number;
  order: number[];
  id: number[];
  name: string[];
  output: number[];
  input: (number | null)[];
  status: Status[];
}

export interface HeatAnswer {
  axis: string;
  layers: string[];
  from: number;
  total: number;
  columns: number[];
  worst: number[];
  overflow: number[];
  bad: number[];
  first: number[];
}

export interface GraphsAnswer {
  step: number[];
  rank: number[];
  target: number[];
  golden: number[];
  status: number[][];
  golden_only: number[];
  overflow: number[][];
  first: number[];
  total: number;
}

export interface Session {
  token: string;
  view_only: boolean;
  logdir: string;
}

/** What can be done with the matches of a step and rank. */
export interface MatchState {
  refused: string | null;
  configs: string[];
  last: { what: 'match' | 'unmatch' | 'import'; subject: string; step: number; rank: number } | null;
  by_hand: number;
}

export interface EditDone {
  matched: number;
  unmatched: number;
  changed: number;
  notes: string[];
  refused: string[];
  refusals: number;
  files: string[];
}
