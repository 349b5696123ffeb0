import type { ApiError } from "../api-error.js";
import { apiVersionOf, type ResourceType } from "../resource-type.js";
import type { ReflectorEvent, ReflectorHandler, ReflectorState } from "./reflector-event.js";

/** An event with the decoded fields of its object. */
export type DecodedEvent = ReflectorEvent<Record<string, unknown>>;

export interface NotifierOptions<T> {
  readonly resource: ResourceType;
  readonly handler: ReflectorHandler<T>;
  readonly onError: ((error: unknown) => void) | undefined;
  /** Once it is aborted, nothing is called any more. */
  readonly stopped: AbortSignal;
}

/** Calls a reflector's handler with events and states. Exceptions of the handler go to `onError`. */
export class Notifier<T> {
  readonly #options: NotifierOptions<T>;
  #state: ReflectorState = { phase: "syncing" };
  #hasSynced = false;
  /** Time of the last data from the server, in milliseconds since the epoch. */
  #lastContact = Date.now();

  constructor(options: NotifierOptions<T>) {
    this.#options = options;
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /** Reports the initial state. */
  begin(): void {
    this.#call(() => this.#options.handler.state(this.#state));
  }

  /** Notes that the server has sent data. */
  contact(): void {
    this.#lastContact = Date.now();
  }

  /** Calls the handler with events, if there are any. */
  emit(events: readonly DecodedEvent[]): void {
    if (events.length === 0 || this.#options.stopped.aborted) return;
    const { resource, handler } = this.#options;
    const [apiVersion, kind] = [apiVersionOf(resource), resource.kind];
    const typed = events.map((event) =>
      event.type === "set" ? { ...event, object: { apiVersion, kind, ...event.object } } : event,
    );
    this.#call(() => handler.events(typed as unknown as ReflectorEvent<T>[]));
  }

  /** Reports the objects as synced. */
  succeed(): void {
    this.#hasSynced = true;
    this.contact();
    if (this.#state.phase !== "synced") this.#setState({ phase: "synced" });
  }

  /** Reports that changes cannot be received. */
  fail(error: ApiError): void {
    if (error.code === "forbidden") this.#setState({ phase: "forbidden", error });
    else if (error.code === "not-found") this.#setState({ phase: "not-served", error });
    else if (!this.#hasSynced) this.#setState({ phase: "syncing", error });
    else {
      const since = this.#state.phase === "stale" ? this.#state.since : this.#lastContact;
      this.#setState({ phase: "stale", since, error });
    }
  }

  /** Reports the error of an attempt, or of the handler. */
  report(error: unknown): void {
    if (this.#options.stopped.aborted) return;
    try {
      this.#options.onError?.(error);
    } catch {
      // The receiver of errors has nobody to report its own to.
    }
  }

  #setState(state: ReflectorState): void {
    if (this.#options.stopped.aborted) return;
    this.#state = state;
    this.#call(() => this.#options.handler.state(state));
  }

  #call(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.report(error);
    }
  }
}
