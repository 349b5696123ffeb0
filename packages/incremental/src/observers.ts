import type { Commit, CommitObserver } from "./api.js";

interface Subscription {
  readonly observer: CommitObserver;
  active: boolean;
}

/** The observers of a database's commits, in order of subscription. */
export class Observers {
  readonly #subscriptions = new Set<Subscription>();
  readonly #onError: (error: unknown) => void;

  /** `onError` receives what observers throw. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Returns the function that unsubscribes the observer. */
  add(observer: CommitObserver): () => void {
    const subscription = { observer, active: true };
    this.#subscriptions.add(subscription);
    return () => {
      subscription.active = false;
      this.#subscriptions.delete(subscription);
    };
  }

  /** Calls `before` of all observers. Returns the function that calls `after` of the same observers. */
  announceBefore(): (commit: Commit) => void {
    if (this.#subscriptions.size === 0) return announceToNobody;
    const subscriptions = [...this.#subscriptions];
    for (const { observer } of this.#active(subscriptions)) this.#notify(() => observer.before?.());
    return (commit) => {
      for (const { observer } of this.#active(subscriptions)) this.#notify(() => observer.after?.(commit));
    };
  }

  /** The subscriptions that have not ended by their turn. */
  *#active(subscriptions: readonly Subscription[]): Generator<Subscription> {
    for (const subscription of subscriptions) if (subscription.active) yield subscription;
  }

  #notify(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#onError(error);
    }
  }
}

function announceToNobody(): void {}

/** Throws an error after the commit, as an uncaught exception. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
