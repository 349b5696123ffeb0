/** An instruction as a node of a graph. `leaf` is its weight if it is neither an alternative nor empty. */
export interface Node {
  readonly successors: readonly number[];
  /** Undefined: an alternative or an empty instruction, which RE2 removes. */
  readonly leaf?: number;
}

/**
 * Returns the size of a program after RE2 has flattened it, or infinity if that is above `limit`: alternatives are
 * replaced by a list for each instruction that others lead to, which can grow quadratically. Source: RE2,
 * `Prog::Flatten`.
 */
export function flattenedSize(nodes: readonly Node[], start: number, limit: number): number {
  const roots = new Set([start]);
  const predecessors = new Map<number, number[]>();
  for (const [id, { successors, leaf }] of nodes.entries())
    for (const next of successors) {
      if (leaf !== undefined) roots.add(next);
      else predecessors.set(next, [...(predecessors.get(next) ?? []), id]);
    }
  const budget = { left: visitsPerInstruction * limit };
  for (const root of [...roots].sort((a, b) => b - a)) {
    if (root === start) continue;
    const found = reachable(nodes, root, roots, budget);
    if (budget.left < 0) return Number.POSITIVE_INFINITY;
    for (const id of found) if (predecessors.get(id)?.some((from) => !found.has(from)) === true) roots.add(id);
  }
  let size = 0;
  for (const root of roots) {
    for (const id of reachable(nodes, root, roots, budget))
      size += id !== root && roots.has(id) ? 1 : (nodes[id]?.leaf ?? 0);
    if (size > limit || budget.left < 0) return Number.POSITIVE_INFINITY;
  }
  return size;
}

/** Bounds the time for programs with long chains of alternatives. */
const visitsPerInstruction = 16;

/** Returns the nodes that are reached through alternatives without passing another root. */
function reachable(
  nodes: readonly Node[],
  root: number,
  roots: ReadonlySet<number>,
  budget: { left: number },
): ReadonlySet<number> {
  const found = new Set<number>();
  const open = [root];
  for (let id = open.pop(); id !== undefined && budget.left >= 0; id = open.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    budget.left--;
    const node = nodes[id];
    if (node === undefined || node.leaf !== undefined || (id !== root && roots.has(id))) continue;
    open.push(...node.successors);
  }
  return found;
}
