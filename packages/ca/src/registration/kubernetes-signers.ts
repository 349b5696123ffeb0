import { type ApiClient, ApiError, requestCertificate } from "@istiod/kubernetes";
import { type Clock, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";

/** State of a signer of certificates. Times in milliseconds since the epoch. */
export interface SignerStatus {
  readonly signer: string;
  readonly lastSuccess?: number;
  /** The last request, if it failed. */
  readonly failure?: { readonly at: number; readonly reason: string };
}

export interface KubernetesSignersOptions {
  readonly client: ApiClient;
  /** Milliseconds that a signer has for a certificate. Default: 60,000, as in Istio. */
  readonly deadlineMs?: number;
  readonly clock?: Clock;
  /** Called after each request with the time that it took in milliseconds. */
  readonly onResult?: (signer: string, result: "signed" | "failed", durationMs: number) => void;
  /** Called if the CertificateSigningRequest cannot be deleted. */
  readonly onLeftOver?: (name: string, error: unknown) => void;
}

export interface SignerRequest {
  /** Name of the Kubernetes signer, such as `example.com/mesh`. */
  readonly signer: string;
  /** PKCS#10 in PEM. */
  readonly request: string;
  readonly usages: readonly string[];
  /** Milliseconds. */
  readonly lifetime: number;
  /** Names in the certificate, for the message of the approval. */
  readonly names: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Signers whose state is kept. Callers choose the names of further ones. */
const maxSigners = 32;
/** Kubernetes' limit on the length of a signer's name. */
const maxNameLength = 571;
const namePattern = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/;

/**
 * Has certificates signed by the signers of a cluster: creates CertificateSigningRequests, approves them, waits for the
 * certificates, and deletes the requests.
 */
export class KubernetesSigners {
  readonly #options: KubernetesSignersOptions;
  readonly #clock: Clock;
  readonly #statuses = new Map<string, SignerStatus>();

  constructor(options: KubernetesSignersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The state of each signer that was used. */
  statuses(): readonly SignerStatus[] {
    return [...this.#statuses.values()];
  }

  /**
   * Returns the result of `read` for the PEM that the signer returned. If `read` throws, the signer has failed.
   *
   * @throws CaError of `read`, or `signing` that names the signer
   */
  async sign<T>(request: SignerRequest, read: (pem: string) => T): Promise<T> {
    const { signer } = request;
    const started = this.#clock.now();
    try {
      if (signer.length > maxNameLength || !namePattern.test(signer))
        throw new CaError("signing", `${JSON.stringify(signer.slice(0, 100))} is not the name of a Kubernetes signer`);
      const certificate = read(await this.#request(request));
      this.#record({ signer, lastSuccess: this.#clock.now() });
      this.#options.onResult?.(signer, "signed", this.#clock.now() - started);
      return certificate;
    } catch (error) {
      const failure = CaError.from(error, "signing", `signer ${signer}`);
      if (request.signal?.aborted) throw failure;
      const { lastSuccess } = this.#statuses.get(signer) ?? {};
      this.#record({
        signer,
        ...(lastSuccess !== undefined && { lastSuccess }),
        failure: { at: this.#clock.now(), reason: failure.message },
      });
      this.#options.onResult?.(signer, "failed", this.#clock.now() - started);
      throw failure;
    }
  }

  async #request({ signer, request, usages, lifetime, names, signal }: SignerRequest): Promise<string> {
    const { client, deadlineMs = 60_000, onLeftOver } = this.#options;
    const message = `istiod authenticated the requester as ${names.join(", ")}`;
    try {
      return await requestCertificate(client, {
        request,
        signerName: signer,
        usages,
        namePrefix: "csr-workload-",
        expirationSeconds: Math.floor(lifetime / 1000),
        approval: { reason: "IstiodApproved", message },
        deadlineMs,
        ...(signal !== undefined && { signal }),
        ...(onLeftOver !== undefined && { onLeftOver }),
      });
    } catch (error) {
      const isUnsigned = error instanceof ApiError && error.code === "timeout";
      if (!isUnsigned) throw error;
      throw new ApiError("timeout", `${error.message}: nobody signs for it, or the signer is slow`, { cause: error });
    }
  }

  /** Names that callers made up do not replace those of signers that work. */
  #record(status: SignerStatus): void {
    if (!this.#statuses.has(status.signer) && this.#statuses.size >= maxSigners) {
      const unused = [...this.#statuses.values()].find(({ lastSuccess }) => lastSuccess === undefined);
      if (unused === undefined) return;
      this.#statuses.delete(unused.signer);
    }
    this.#statuses.set(status.signer, status);
  }
}
