import { randomBytes } from "node:crypto";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import type { KubernetesObject } from "../object.js";
import { resourcePath, type ResourceType } from "../resource-type.js";
import { isRetriable, retryOnConflict, sleep, withRetries } from "../writers/retries.js";
import { openWatch } from "../reflector/list-watch.js";
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
  /** Milliseconds before a watch that failed is repeated. Default: 1,000. */
  readonly retryMs?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Called if the object cannot be deleted at the end; the server deletes it after an hour or a day. */
  readonly onLeftOver?: (name: string, error: unknown) => void;
}

/**
 * Has a certificate signed by a Kubernetes signer: creates a CertificateSigningRequest, approves it if requested,
 * watches it until it has a certificate, and deletes the object in any case. Needs the permissions create, get, watch
 * and delete on certificatesigningrequests; to approve, also update on their subresource approval, and approve on the
 * signer.
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
    const retries = { signal: limited, clock };
    const created = await withRetries(() => create(client, name, options, limited), retries);
    const { approval } = options;
    const pending = approval === undefined ? created : await approve(client, name, created, approval, retries);
    return await waitForCertificate(client, name, pending, options, limited);
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
): Promise<CertificateSigningRequest> {
  const spec = { request: Buffer.from(request).toString("base64"), signerName, usages, expirationSeconds };
  const object: CertificateSigningRequest = { metadata: { name }, spec };
  try {
    return await createObject(client, requests, object, { signal });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "already-exists")) throw error;
    // The name is random: it exists because an attempt without an answer has succeeded.
    return readRequest(client, name, signal);
  }
}

/** Approves a request and returns it. It is read again only after a conflict. */
async function approve(
  client: ApiClient,
  name: string,
  created: CertificateSigningRequest,
  approval: { readonly reason: string; readonly message: string },
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Promise<CertificateSigningRequest> {
  const approved = { type: "Approved", status: "True", ...approval };
  let known: CertificateSigningRequest | undefined = created;
  return retryOnConflict<CertificateSigningRequest, CertificateSigningRequest>(
    {
      async read() {
        const current = known ?? (await readRequest(client, name, signal));
        known = undefined;
        return current;
      },
      async write(current) {
        const conditions = current.status?.conditions ?? [];
        if (conditions.some(({ type }) => type === "Approved")) return current;
        const body = JSON.stringify({
          ...current,
          status: { ...current.status, conditions: [...conditions, approved] },
        });
        const path = resourcePath(requests, { name, subresource: "approval" });
        return client.json<CertificateSigningRequest>({ method: "PUT", path, body, signal });
      },
    },
    { signal, clock },
  );
}

/** Watches a request from a version of it until it has a certificate. Needs no permission to list. */
async function waitForCertificate(
  client: ApiClient,
  name: string,
  from: CertificateSigningRequest,
  { clock = monotonicClock, retryMs = 1000, deadlineMs = 60_000 }: CertificateRequestOptions,
  signal: AbortSignal,
): Promise<string> {
  let current = from;
  for (;;) {
    const certificate = certificateOf(name, current);
    if (certificate !== undefined) return certificate;
    try {
      const next = await nextVersion(client, name, current, { signal, deadlineMs });
      const read: CertificateSigningRequest = next ?? (await readRequest(client, name, signal));
      const isUnchanged = read.metadata?.resourceVersion === current.metadata?.resourceVersion;
      current = read;
      // A server that ends watches as soon as they begin must not be asked continuously.
      if (isUnchanged) await sleep(clock, retryMs, signal);
    } catch (error) {
      if (!isRetriable(error)) throw error;
      await sleep(clock, retryMs, signal);
      // The object has the changes that the watch missed.
      current = (await readRequest(client, name, signal).catch(unlessRetriable)) ?? current;
    }
  }
}

/** Returns the next version of a request; undefined if the watch ended or its version has expired. */
async function nextVersion(
  client: ApiClient,
  name: string,
  { metadata: { resourceVersion = "" } = {} }: CertificateSigningRequest,
  { signal, deadlineMs }: { readonly signal: AbortSignal; readonly deadlineMs: number },
): Promise<CertificateSigningRequest | undefined> {
  const ended = new AbortController();
  try {
    const { batches } = await openWatch(
      { client, resource: requests, fieldSelector: `metadata.name=${name}`, fields: { fields: true } },
      AbortSignal.any([signal, ended.signal]),
      { resourceVersion, timeoutSeconds: Math.ceil(deadlineMs / 1000) },
    );
    for await (const batch of batches)
      for (const message of batch) {
        if (message.type === "ERROR") return undefined;
        if (message.type === "DELETED")
          throw new ApiError("not-found", `${requests.kind} ${name} was deleted before it was signed`);
        if (message.type !== "BOOKMARK") return message.object.object as unknown as CertificateSigningRequest;
      }
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.code === "expired") return undefined;
    throw error;
  } finally {
    ended.abort();
  }
}

function readRequest(client: ApiClient, name: string, signal: AbortSignal): Promise<CertificateSigningRequest> {
  return readObject<CertificateSigningRequest>(client, requests, { name }, signal);
}

function unlessRetriable(error: unknown): undefined {
  if (!isRetriable(error)) throw error;
  return undefined;
}

/** Returns the certificate of a request; undefined if it is not signed yet. @throws ApiError if it never will be */
function certificateOf(name: string, { status }: CertificateSigningRequest): string | undefined {
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
