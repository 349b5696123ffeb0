import type { Clock } from "@istiod/runtime";
import type { Logger } from "pino";

const periodMs = 10_000;
const maxLines = 10;
/** Peers that are counted apart in a period. */
const maxPeers = 1000;

interface Period {
  lines: number;
  suppressed: number;
  readonly peers: Set<string>;
}

/**
 * Writes lines that callers cause, a bounded number of them: the first ones of a topic in each period, then one line
 * with the number of the others.
 */
export class BoundedLines {
  readonly #clock: Clock;
  readonly #topics = new Map<string, Period>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param topic what the lines have in common, of a closed set
   * @param fields fields of the line; `peer` is counted in the line about the others
   */
  write(
    log: Logger,
    level: "info" | "warn" | "error",
    topic: string,
    fields: Readonly<Record<string, unknown>> & { readonly peer: string },
    message: string,
  ): void {
    const period = this.#topics.get(topic) ?? this.#start(log, level, topic);
    if (period.lines < maxLines) {
      period.lines++;
      log[level](fields, message);
      return;
    }
    period.suppressed++;
    if (period.peers.size < maxPeers) period.peers.add(fields.peer);
  }

  #start(log: Logger, level: "info" | "warn" | "error", topic: string): Period {
    const period: Period = { lines: 0, suppressed: 0, peers: new Set() };
    this.#topics.set(topic, period);
    this.#clock.after(periodMs, () => {
      this.#topics.delete(topic);
      const { suppressed, peers } = period;
      if (suppressed === 0) return;
      const [example] = peers;
      log[level](
        { suppressed, peers: peers.size < maxPeers ? peers.size : `at least ${maxPeers}`, peer: example },
        `${topic}: more of these in the last ${periodMs / 1000}s`,
      );
    });
    return period;
  }
}
