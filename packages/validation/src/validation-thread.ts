import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import {
  type AdmissionContext,
  AdmissionError,
  type AdmissionErrorCode,
  encodeReview,
  readReview,
} from "@istiod/admission";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { type ValidationEvent, validationWebhook } from "./admit.js";

export interface ValidationThreadOptions {
  /** Called with each decision. */
  readonly onDecision?: (event: ValidationEvent) => void;
  /** Limit of the thread's heap in MiB. Default 96. */
  readonly maxHeapMiB?: number;
  /** Milliseconds without a review after which the thread ends. Default 60,000. */
  readonly idleMs?: number;
  readonly clock?: Clock;
}

/** The result of a review in the thread. */
type Result =
  | { readonly answer: string; readonly event: ValidationEvent | undefined }
  | { readonly code: AdmissionErrorCode; readonly message: string }
  | { readonly failure: string };

interface Job {
  readonly resolve: (answer: string) => void;
  readonly reject: (error: Error) => void;
}

const defaultIdleMs = 60_000;
const defaultMaxHeapMiB = 96;
const youngGenerationMiB = 8;
/** Tells this thread from others that load the same module, such as one bundle of a whole program. */
const task = "istiod validation";

/**
 * Decides about large reviews in a thread of its own, as `validationWebhook` does: a review of 4 MB takes a second. The
 * thread is started for a review, and ends when it was idle for some time, or with a review that takes too long or too
 * much memory.
 */
export class ValidationThread {
  readonly #options: ValidationThreadOptions;
  #worker: Worker | undefined;
  #job: Job | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #stopIdleTimer: (() => void) | undefined;

  constructor(options: ValidationThreadOptions = {}) {
    this.#options = options;
  }

  /** Reports whether the thread exists. */
  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Returns the encoded answer to a review. Reviews are decided one after the other.
   *
   * @param body is not readable after the call
   * @throws AdmissionError if the review cannot be read or takes too much memory; the reason of the signal
   */
  answer(body: Uint8Array, { signal }: Pick<AdmissionContext, "signal">): Promise<string> {
    const answer = this.#last.then(() => this.#decide(body, signal));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Ends the thread. A review that is being decided is rejected. */
  async close(): Promise<void> {
    this.#stopIdleTimer?.();
    await this.#end(new Error("the validation thread was closed"));
  }

  async #decide(body: Uint8Array, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    this.#stopIdleTimer?.();
    const worker = (this.#worker ??= this.#start());
    const stop = (): void => void this.#end(signal.reason as Error);
    signal.addEventListener("abort", stop);
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#job = { resolve, reject };
        const bytes = isWhole(body) ? body : body.slice();
        worker.postMessage(bytes, [bytes.buffer as ArrayBuffer]);
      });
    } finally {
      signal.removeEventListener("abort", stop);
      this.#job = undefined;
      const { clock = monotonicClock, idleMs = defaultIdleMs } = this.#options;
      if (this.#worker !== undefined) this.#stopIdleTimer = clock.after(idleMs, () => void this.#end());
    }
  }

  #start(): Worker {
    const worker = new Worker(moduleFile(), {
      workerData: task,
      execArgv: [],
      resourceLimits: {
        maxOldGenerationSizeMb: this.#options.maxHeapMiB ?? defaultMaxHeapMiB,
        maxYoungGenerationSizeMb: youngGenerationMiB,
      },
    });
    worker.unref();
    worker.on("message", (result: Result) => this.#finish(result));
    const failed = (error: Error): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#job?.reject(error);
    };
    worker.on("error", (error: NodeJS.ErrnoException) =>
      failed(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooLarge() : error),
    );
    worker.on("exit", (code) => failed(new Error(`the validation thread exited with ${code}`)));
    return worker;
  }

  #finish(result: Result): void {
    if ("code" in result) this.#job?.reject(new AdmissionError(result.code, result.message));
    else if ("failure" in result) this.#job?.reject(new Error(result.failure));
    else {
      if (result.event !== undefined) this.#options.onDecision?.(result.event);
      this.#job?.resolve(result.answer);
    }
  }

  async #end(reason?: Error): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    if (reason !== undefined) this.#job?.reject(reason);
    await worker?.terminate();
  }
}

function tooLarge(): AdmissionError {
  return new AdmissionError("too-large", "the objects of the review take too much memory");
}

function isWhole({ buffer, byteLength }: Uint8Array): boolean {
  return buffer.byteLength === byteLength;
}

/** Returns this module as a file that a thread can run: the built one, if this runs from source. */
function moduleFile(): URL {
  const url = import.meta.url;
  return url.endsWith(".ts") ? new URL("../dist/validation-thread.js", url) : new URL(url);
}

async function review(body: Uint8Array): Promise<Result> {
  let event: ValidationEvent | undefined;
  const admit = validationWebhook({ onDecision: (decision) => (event = decision) });
  try {
    const { request, apiVersion } = readReview(body);
    const context = { url: new URL("http://localhost/"), signal: new AbortController().signal };
    const answer = encodeReview({ request, apiVersion }, await admit(request, context));
    return { answer, event };
  } catch (error) {
    if (error instanceof AdmissionError) return { code: error.code, message: error.message };
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

if (!isMainThread && parentPort !== null && workerData === task) {
  const port = parentPort;
  port.on("message", (body: Uint8Array) => void review(body).then((result) => port.postMessage(result)));
}
