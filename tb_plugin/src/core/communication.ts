/** Partners of a communication node, whichever shape the file writes them in. */

export interface Partner {
  rank: number;
  name: string;
}

interface Partners {
  kind: 'send' | 'receive' | 'send_receive';
  list: Partner[];
}

/**
 * Reads `{"communications_type", "nodes_info": {rank: [precision, name]}}`, or a list of such objects (batched transfers).
 * Names are taken whole, whatever characters they have.
 */
export function partners(value: unknown): Partners[] {
  if (Array.isArray(value)) return value.slice(0, 1000).flatMap(partners);
  if (typeof value !== 'object' || value === null) return [];
  const { communications_type: type, nodes_info: nodes } = value as { communications_type?: unknown; nodes_info?: unknown };
  if (typeof nodes !== 'object' || nodes === null) return [];
  const kind = type === 'send' || type === 'receive' ? type : 'send_receive';
  const list: Partner[] = [];
  for (const [rank, entry] of Object.entries(nodes)) {
    if (!/^\d+$/.test(rank)) continue;
    const names = Array.isArray(entry) ? entry : [entry];
    const name = names.filter((one): one is string => typeof one === 'string').at(-1);
    if (name) list.push({ rank: Number(rank), name });
  }
  return list.length > 0 ? [{ kind, list }] : [];
}
