import { type Clock, LineBudget, shortened } from "@istiod/runtime";
import type { Logger } from "pino";

const examples = 5;

/** The requested secrets of a client that are denied, each reported once until the reason changes. */
export class DeniedSecrets {
  readonly #log: Logger;
  readonly #proxy: string;
  readonly #budget: LineBudget;
  readonly #reasons = new Map<string, string>();
  #unreported: { readonly name: string; readonly reason: string }[] = [];
  #unreportedCount = 0;

  constructor(log: Logger, proxy: string, clock: Clock) {
    this.#log = log;
    this.#proxy = proxy;
    this.#budget = new LineBudget(clock);
  }

  /** Records a denied secret. Returns true if it is new or denied for another reason than before. */
  add(name: string, reason: string): boolean {
    if (this.#reasons.get(name) === reason) return false;
    this.#reasons.set(name, reason);
    // The secrets of a request are denied at once: the first of them are logged, and the number of the others.
    if (this.#unreportedCount++ === 0) queueMicrotask(() => this.#report());
    if (this.#unreported.length < examples) this.#unreported.push({ name, reason });
    return true;
  }

  delete(name: string): void {
    this.#reasons.delete(name);
  }

  #report(): void {
    const [denied, count] = [this.#unreported, this.#unreportedCount];
    this.#unreported = [];
    this.#unreportedCount = 0;
    const proxy = this.#proxy;
    for (const { name, reason } of denied) {
      const more = this.#budget.take();
      if (more !== undefined)
        this.#log.warn(
          { proxy, secret: shortened(name, 256), ...more },
          `secret not served: ${shortened(reason, 512)}`,
        );
    }
    const more = count > denied.length ? this.#budget.take() : undefined;
    if (more !== undefined)
      this.#log.warn({ proxy, count: count - denied.length, ...more }, "more secrets of the same request not served");
  }
}
