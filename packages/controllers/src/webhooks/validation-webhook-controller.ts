import { collection, query } from "@istiod/incremental";
import { Backoff, type Clock, monotonicClock } from "@istiod/runtime";
import type { Controller } from "../controller/controller.js";
import type { ControllerLog } from "../controller/log.js";
import {
  followRootCertificates,
  rootCertificateInput,
  type RootCertificates,
} from "../root-certificates/root-certificates.js";
import type { ProbeResult } from "./validation-probe.js";
import {
  validatingType,
  type Webhook,
  type WebhookConfigurations,
  webhooksWrite,
  webhookWatch,
  withCaBundle,
} from "./webhook-configuration.js";

export interface ValidationWebhookOptions {
  /** Roots by which API servers verify istiod's serving certificate. */
  readonly roots: RootCertificates;
  /** Revision of this istiod, such as `default`. */
  readonly revision: string;
  /** Reports whether the API server rejects an object because of the webhook. See `probeValidation`. */
  readonly probe: (signal: AbortSignal) => Promise<ProbeResult>;
  readonly log: ControllerLog;
  readonly clock?: Clock;
  /** Returns a number from 0 to 1, for jitter. Default: `Math.random`. */
  readonly random?: () => number;
}

const backoffRange = { initialMs: 100, maxMs: 60_000 };

/**
 * Keeps the CA bundle of the validation webhooks of a revision, and sets their `failurePolicy` to `Fail`, but only
 * after the webhook has rejected an object: until then nobody could write Istio's objects. Every istiod of the revision
 * runs it, without a leader lock, as in Istio. Source: pkg/webhooks/validation/controller/controller.go.
 */
export function validationWebhookController(options: ValidationWebhookOptions): Controller {
  const { roots, revision } = options;
  const configurations: WebhookConfigurations = collection("ValidatingWebhookConfiguration");
  const answers = collection<true>("validation webhook answers");
  return {
    name: "validation webhook controller",
    watches: [webhookWatch(validatingType, configurations, revision)],
    inputs: (database) => {
      const ends = [followRootCertificates(roots, database)];
      const succeeded = (): void => void database.commit((tx) => tx.set(answers, "", true));
      const isNeeded = (): boolean =>
        database
          .keys(configurations)
          .some((name) => database.read(configurations, name)?.value.webhooks.some(isIgnored));
      const prober = new Prober(options, isNeeded, succeeded);
      ends.push(database.observe({ after: () => prober.start() }), () => prober.stop());
      prober.start();
      return () => {
        for (const end of ends) end();
      };
    },
    targets: query("validationWebhooks", (q) => q.keys(configurations)),
    write: query("validationWebhook", (q, name: string) => {
      const observed = q.read(configurations, name);
      const pem = q.read(rootCertificateInput, "");
      if (observed === undefined || pem === undefined) return undefined;
      const mayFail = observed.value.webhooks.some(isIgnored) && q.read(answers, "") === true;
      return webhooksWrite(validatingType, name, observed, (webhook) => {
        const current = withCaBundle(webhook, pem);
        return mayFail && isIgnored(current) ? { ...current, failurePolicy: "Fail" } : current;
      });
    }),
  };
}

/** Reports whether the API server admits objects without this webhook's answer. */
function isIgnored({ failurePolicy }: Webhook): boolean {
  return failurePolicy !== undefined && failurePolicy !== "Fail";
}

/** Asks until the webhook rejects an object, for as long as a configuration depends on it. */
class Prober {
  readonly #options: ValidationWebhookOptions;
  readonly #isNeeded: () => boolean;
  readonly #onRejected: () => void;
  readonly #stopping = new AbortController();
  #state: "idle" | "probing" | "waiting" | "done" = "idle";
  readonly #backoff: Backoff;
  #cancel = (): void => undefined;

  constructor(options: ValidationWebhookOptions, isNeeded: () => boolean, onRejected: () => void) {
    this.#options = options;
    this.#backoff = new Backoff({ ...backoffRange, ...(options.random && { random: options.random }) });
    this.#isNeeded = isNeeded;
    this.#onRejected = onRejected;
  }

  /** Starts to ask, if it is needed and has not begun. */
  start(): void {
    if (this.#state !== "idle" || this.#stopping.signal.aborted || !this.#isNeeded()) return;
    this.#state = "probing";
    void this.#probe();
  }

  stop(): void {
    this.#stopping.abort();
    this.#cancel();
  }

  async #probe(): Promise<void> {
    const { probe, log, clock = monotonicClock } = this.#options;
    const { signal } = this.#stopping;
    const { isRejected, reason } = await probe(signal);
    if (signal.aborted) return;
    if (isRejected) {
      this.#state = "done";
      if (reason !== "") log.warn({}, reason);
      log.info({}, "endpoint rejected the invalid object, switching to fail-close");
      this.#onRejected();
      return;
    }
    log.info({}, `not ready to switch validation to fail-closed: ${reason}`);
    this.#state = "waiting";
    this.#cancel = clock.after(this.#backoff.next(), () => {
      this.#state = "idle";
      this.start();
    });
  }
}
