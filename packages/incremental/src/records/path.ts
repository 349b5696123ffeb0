/**
 * The questions that a computation asked, with the answers, in order of first asking: `[question, answer, question,
 * answer, …]`. Equal paths are one object, shared by the memos that they lead to.
 */
export class Path {
  /** The number of memos that it leads to. */
  memos = 0;
  /** The state of a client's answers (`Client.state`) that last matched this path. */
  matchedState = 0;
  /** The last pass that visited it: see `Workspace`. */
  mark = 0;

  constructor(
    readonly steps: readonly number[],
    readonly hash: number,
  ) {}
}

export const noPath = new Path([], 0);

/** All paths that lead to memos. */
export class Paths {
  readonly #byHash = new Map<number, Path | Path[]>();
  size = 0;

  /** Returns the path of `steps[from]` up to, not including, `steps[to]`. */
  intern(steps: readonly number[], from: number, to: number): Path {
    if (from === to) return noPath;
    let hash = to - from;
    for (let i = from; i < to; i++) hash = (Math.imul(hash, 31) + (steps[i] as number)) | 0;
    const known = this.#byHash.get(hash);
    if (known instanceof Path) {
      if (same(known, steps, from, to)) return known;
    } else if (known !== undefined) {
      for (const path of known) if (same(path, steps, from, to)) return path;
    }
    const path = new Path(steps.slice(from, to), hash);
    this.#byHash.set(hash, known === undefined ? path : known instanceof Path ? [known, path] : [...known, path]);
    this.size++;
    return path;
  }

  /** Drops a path that leads to no memo. */
  drop(path: Path): void {
    const known = this.#byHash.get(path.hash);
    if (known === undefined) return;
    const others = known instanceof Path ? [] : known.filter((other) => other !== path);
    if (others.length === 0) this.#byHash.delete(path.hash);
    else this.#byHash.set(path.hash, others.length === 1 ? (others[0] as Path) : others);
    this.size--;
  }

  *[Symbol.iterator](): Iterator<Path> {
    for (const known of this.#byHash.values()) {
      if (known instanceof Path) yield known;
      else yield* known;
    }
  }

  clear(): void {
    this.#byHash.clear();
    this.size = 0;
  }
}

function same(path: Path, steps: readonly number[], from: number, to: number): boolean {
  const known = path.steps;
  if (known.length !== to - from) return false;
  for (let i = from, j = 0; i < to; i++, j++) if (known[j] !== steps[i]) return false;
  return true;
}
