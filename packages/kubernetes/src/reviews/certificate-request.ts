import { randomBytes } from "node:crypto";
import { type Clock, monotonicClock } from "@istiod/settings";
import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import type { KubernetesObject } from "../object.js";
import { resourcePath, type ResourceType } from "../resource-type.js";
import { isRetriable, retryOnConflict, sleep, withRetries } from "../writers/retries.js";
import { createObject, deleteObject, readObject } from "../writers/write-object.js";

const requests: ResourceType = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  namespaced: false,
};

interface CertificateSigningRequest extends KubernetesObject {
  readonly spec: object;
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly Condition[] };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface CertificateRequestOptions {
  /** PKCS#10 request in PEM. */
  readonly request: string;
  /** For example `example.com/mesh`. */
  readonly signerName: string;
  /** For example `digital signature`, `server auth`. Must not be empty. */
  readonly usages: readonly string[];
  /** Requested lifetime in seconds, at least 600. The signer may shorten it. Default: the signer's. */
  readonly expirationSeconds?: number;
  /** Approves the request, with this reason and message. Default: another party approves it. */
  readonly approval?: { readonly reason: string; readonly message: string };
  /** Beginning of the object's name. Default: `csr-`. */
  readonly namePrefix?: string;
  /** Milliseconds for everything but the deletion. Default: 60,000. */
  readonly deadlineMs?: number;
  /** Milliseconds between reads of the object. Default: 1,000. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Called if the object cannot be deleted at the end; the server deletes it after an hour or a day. */
  readonly onLeftOver?: (name: string, error: unknown) => void;
}

/**
 * Has a certificate signed by a Kubernetes signer: creates a CertificateSigningRequest, approves it if requested, waits
 * for the certificate and deletes the object in any case.
 *
 * @returns the certificate chain in PEM
 * @throws ApiError, `forbidden` if the request is denied or the client may not approve for the signer, `invalid` if
 *   the signer fails it, `timeout` after the deadline, `aborted`
 */
export async function requestCertificate(client: ApiClient, options: CertificateRequestOptions): Promise<string> {
  const { clock = monotonicClock, deadlineMs = 60_000, namePrefix = "csr-", signal, onLeftOver } = options;
  const name = `${namePrefix}${randomBytes(8).toString("hex")}`;
  const ended = new AbortController();
  const cancel = clock.after(deadlineMs, () => ended.abort(deadlinePassed));
  const limited = AbortSignal.any([ended.signal, ...(signal ? [signal] : [])]);
  try {
    await withRetries(() => create(client, name, options, limited), { signal: limited, clock });
    if (options.approval) await approve(client, name, options.approval, { signal: limited, clock });
    return await waitForCertificate(client, name, options, limited);
  } catch (error) {
    if (!ended.signal.aborted || signal?.aborted) throw error;
    throw new ApiError("timeout", `${requests.kind} ${name}: no certificate within ${deadlineMs} ms`, { cause: error });
  } finally {
    cancel();
    await cleanUp(client, name, clock).catch((error: unknown) => onLeftOver?.(name, error));
  }
}

const deadlinePassed = Symbol("deadline");

async function create(
  client: ApiClient,
  name: string,
  { request, signerName, usages, expirationSeconds }: CertificateRequestOptions,
  signal: AbortSignal,
): Promise<void> {
  const spec = { request: Buffer.from(request).toString("base64"), signerName, usages, expirationSeconds };
  const object: CertificateSigningRequest = { metadata: { name }, spec };
  try {
    await createObject(client, requests, object, { signal });
  } catch (error) {
    // The name is random: it exists because an attempt without an answer has succeeded.
    if (!(error instanceof ApiError && error.code === "already-exists")) throw error;
  }
}

async function approve(
  client: ApiClient,
  name: string,
  approval: { readonly reason: string; readonly message: string },
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Promise<void> {
  const approved = { type: "Approved", status: "True", ...approval };
  await retryOnConflict(
    {
      read: () => readObject<CertificateSigningRequest>(client, requests, { name }, signal),
      async write(current) {
        const conditions = current.status?.conditions ?? [];
        if (conditions.some(({ type }) => type === "Approved")) return;
        const body = JSON.stringify({
          ...current,
          status: { ...current.status, conditions: [...conditions, approved] },
        });
        const path = resourcePath(requests, { name, subresource: "approval" });
        await client.json<unknown>({ method: "PUT", path, body, signal });
      },
    },
    { signal, clock },
  );
}

async function waitForCertificate(
  client: ApiClient,
  name: string,
  { clock = monotonicClock, pollMs = 1000 }: CertificateRequestOptions,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    const certificate = await certificateOf(client, name, signal);
    if (certificate !== undefined) return certificate;
    await sleep(clock, pollMs, signal);
  }
}

/** Returns the certificate of a request, or undefined if it is not signed yet or the server does not answer. */
async function certificateOf(client: ApiClient, name: string, signal: AbortSignal): Promise<string | undefined> {
  let status: CertificateSigningRequest["status"];
  try {
    ({ status } = await readObject<CertificateSigningRequest>(client, requests, { name }, signal));
  } catch (error) {
    if (isRetriable(error)) return undefined;
    throw error;
  }
  for (const { type, reason = "", message = "" } of status?.conditions ?? []) {
    const details = [reason, message].filter((text) => text !== "").join(": ");
    if (type === "Denied") throw new ApiError("forbidden", `${requests.kind} ${name} was denied: ${details}`);
    if (type === "Failed") throw new ApiError("invalid", `${requests.kind} ${name} has failed: ${details}`);
  }
  return status?.certificate ? Buffer.from(status.certificate, "base64").toString("utf8") : undefined;
}

async function cleanUp(client: ApiClient, name: string, clock: Clock): Promise<void> {
  await withRetries(
    async () => {
      try {
        await deleteObject(client, requests, { name });
      } catch (error) {
        if (!(error instanceof ApiError && error.code === "not-found")) throw error;
      }
    },
    { clock, attempts: 3, deadlineMs: 10_000 },
  );
}
