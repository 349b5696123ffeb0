import { X509Certificate } from "node:crypto";
import type { Clock } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import { type Secret, type SecretSource, WORKLOAD_CERTIFICATE } from "./secret.js";

/** A source of secrets that remembers until when the workload's certificate, as last served to Envoy, is valid. */
export class ServedCertificate implements SecretSource {
  readonly #secrets: SecretSource;
  readonly #clock: Clock;
  #notAfter: number | undefined;

  constructor(secrets: SecretSource, clock: Clock) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  watch(name: string, listener: (secret: Secret) => void, missing?: () => void): () => void {
    if (name !== WORKLOAD_CERTIFICATE) return this.#secrets.watch(name, listener, missing);
    return this.#secrets.watch(name, (secret) => {
      if (secret.kind === "certificate") this.#notAfter = notAfterOf(secret.chain);
      listener(secret);
    });
  }

  /** @throws AgentError `authority` if the certificate is expired */
  checkValid(): void {
    if (this.#notAfter === undefined || this.#clock.now() < this.#notAfter) return;
    const time = new Date(this.#notAfter).toISOString();
    throw new AgentError("authority", `workload certificate expired at ${time}, and no new one has been issued`);
  }
}

function notAfterOf(chain: string): number | undefined {
  try {
    const time = Date.parse(new X509Certificate(chain).validTo);
    return Number.isNaN(time) ? undefined : time;
  } catch {
    return undefined;
  }
}
