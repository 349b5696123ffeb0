/** Place in the order of turns: a group, and a part of it that has a smaller share. */
export interface Turn {
  readonly group: string;
  readonly part: string;
}

export interface FairLimitOptions {
  /** Maximum number of tasks that run at once. */
  readonly total: number;
  /** Maximum number of these in one group, and in one part of a group. */
  readonly perGroup: number;
  readonly perPart: number;
}

/** A task that waits. It is in the queues of all its turns until one of them begins it. */
interface Waiting {
  begin: ((turn: Turn) => void) | undefined;
}

/**
 * Runs a bounded number of tasks at once. Groups take turns, and none has more than its share, so that tasks that do
 * not end delay only their own group; parts of a group likewise.
 */
export class FairLimit {
  readonly #options: FairLimitOptions;
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  /** Queues by group and part. The group that had its turn last is the last one. */
  readonly #waiting = new Map<string, Map<string, Waiting[]>>();

  constructor(options: FairLimitOptions) {
    this.#options = options;
  }

  /**
   * Runs a task when one of its turns has room. A task whose signal is aborted before that is not run. The room is
   * taken until the task has ended and the promises that it passed to `hold` have settled.
   */
  async run<T>(
    turns: readonly Turn[],
    signal: AbortSignal,
    task: (hold: (until: Promise<unknown>) => void) => Promise<T>,
  ): Promise<T> {
    const free = turns.find((each) => this.#hasRoom(each));
    const turn = free ?? (await this.#wait(turns));
    if (free !== undefined) this.#count(free, 1);
    const held: Promise<unknown>[] = [];
    try {
      signal.throwIfAborted();
      return await task((until) => held.push(until));
    } finally {
      if (held.length === 0) this.#release(turn);
      else void Promise.allSettled(held).then(() => this.#release(turn));
    }
  }

  async #wait(turns: readonly Turn[]): Promise<Turn> {
    return new Promise((resolve) => {
      const waiting: Waiting = { begin: resolve };
      for (const { group, part } of turns) {
        const parts = this.#waiting.get(group) ?? new Map<string, Waiting[]>();
        this.#waiting.set(group, parts);
        const queue = parts.get(part) ?? [];
        parts.set(part, queue);
        queue.push(waiting);
      }
    });
  }

  #release(turn: Turn): void {
    this.#count(turn, -1);
    // More than one may begin: what waited for the share of this group was not what others waited for.
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [waiting, at] = next;
      const { begin } = waiting;
      waiting.begin = undefined;
      this.#count(at, 1);
      begin?.(at);
    }
  }

  /** Takes the next task that may begin from its queue. */
  #next(): [Waiting, Turn] | undefined {
    if (this.#running >= this.#options.total) return undefined;
    for (const [group, parts] of this.#waiting) {
      for (const [part, queue] of parts) {
        const begun = queue.findIndex(({ begin }) => begin !== undefined);
        queue.splice(0, begun < 0 ? queue.length : begun);
        const [first] = queue;
        if (first === undefined) parts.delete(part);
        else if (this.#hasRoom({ group, part })) {
          queue.shift();
          parts.delete(part);
          if (queue.length > 0) parts.set(part, queue);
          this.#waiting.delete(group);
          if (parts.size > 0) this.#waiting.set(group, parts);
          return [first, { group, part }];
        }
      }
      if (parts.size === 0) this.#waiting.delete(group);
    }
    return undefined;
  }

  #hasRoom(turn: Turn): boolean {
    const { total, perGroup, perPart } = this.#options;
    const [group, part] = keysOf(turn);
    return (
      this.#running < total &&
      (this.#runningOf.get(group) ?? 0) < perGroup &&
      (this.#runningOf.get(part) ?? 0) < perPart
    );
  }

  #count(turn: Turn, change: 1 | -1): void {
    this.#running += change;
    for (const key of keysOf(turn)) {
      const running = (this.#runningOf.get(key) ?? 0) + change;
      if (running === 0) this.#runningOf.delete(key);
      else this.#runningOf.set(key, running);
    }
  }
}

function keysOf({ group, part }: Turn): readonly [string, string] {
  return [JSON.stringify([group]), JSON.stringify([group, part])];
}
