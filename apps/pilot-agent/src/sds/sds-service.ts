import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { SecretDiscoveryService } from "@istiod/envoy-api/envoy/service/secret/v3/sds";
import type { PrivateKeyProvider } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { secretType } from "@istiod/resources";
import { reasonOf } from "@istiod/runtime";
import type { Secret, SecretSource } from "../certificates/secret.js";
import { LimitedLog } from "@istiod/logging";
import { type Log, silentLog } from "../log.js";
import { CoalescingQueue } from "./coalescing-queue.js";
import { envoySecret, unusableSecret } from "./envoy-secret.js";

/** Maximum size of a request in bytes. Envoy's have a name and the node. */
export const MAX_REQUEST_BYTES = 1024 * 1024;
/** Open streams of a connection. Envoy opens one for each name. */
export const MAX_STREAMS = 1000;
/** Names that all streams subscribe to. Each may be of files, which are watched. */
const MAX_NAMES = 1024;

export interface SdsOptions {
  /** Maximum number of names that all streams subscribe to. Default: 1024. */
  readonly maxNames?: number;
  /** Called when a stream ends because of that limit. */
  readonly limited?: () => void;
  /** Accelerator that Envoy signs with. Default: Envoy signs itself. */
  readonly privateKeyProvider?: PrivateKeyProvider;
  readonly log?: Log;
}

/** Returns the routes of SDS (`envoy.service.secret.v3.SecretDiscoveryService`, state of the world). */
export function sdsRoutes(secrets: SecretSource, options: SdsOptions = {}): (router: ConnectRouter) => void {
  return (router) => router.service(SecretDiscoveryService, sdsService(secrets, options));
}

/**
 * Sends a secret once it is available and after each change. Envoy's listeners wait up to 15 s for one that is not,
 * with all their servers, so one whose files cannot be used is answered by a secret that Envoy rejects.
 */
function sdsService(
  secrets: SecretSource,
  { maxNames = MAX_NAMES, limited = () => undefined, privateKeyProvider, log = silentLog }: SdsOptions,
): Partial<ServiceImpl<typeof SecretDiscoveryService>> {
  const limitedLog = new LimitedLog(log);
  const pack = (name: string, secret: Secret): Any =>
    anyPack(SecretSchema, envoySecret(name, secret, privateKeyProvider));
  let names = 0;
  /** Counts the names that a stream adds or removes. */
  const count = (change: number): void => {
    if (names + change > maxNames) {
      const reason = `too many secrets are subscribed to: at most ${maxNames}`;
      limited();
      limitedLog.write("warn", reason);
      throw new ConnectError(reason, Code.ResourceExhausted);
    }
    names += change;
  };
  return {
    async *streamSecrets(requests, { signal }) {
      const queue = new CoalescingQueue<string, Any>();
      const watches = new Map<string, () => void>();
      const close = (): void => {
        for (const stop of watches.values()) stop();
        count(-watches.size);
        watches.clear();
        queue.close();
      };
      const abort = (): void => {
        // Such as the deadline of the stream.
        queue.fail(ConnectError.from(signal.reason, Code.Canceled));
        close();
      };
      signal.addEventListener("abort", abort, { once: true });
      void followRequests(requests, { queue, watches, secrets, pack, count, log: limitedLog })
        .catch((error: unknown) => queue.fail(error))
        .then(() => queue.close());
      try {
        for await (const [name, resource] of queue) yield response(name, resource);
      } finally {
        close();
      }
    },
  };
}

interface Stream {
  readonly queue: CoalescingQueue<string, Any>;
  readonly watches: Map<string, () => void>;
  readonly secrets: SecretSource;
  readonly pack: (name: string, secret: Secret) => Any;
  /** @throws ConnectError if there are too many names */
  readonly count: (change: number) => void;
  readonly log: LimitedLog;
}

async function followRequests(
  requests: AsyncIterable<DiscoveryRequest>,
  { queue, watches, secrets, pack, count, log }: Stream,
): Promise<void> {
  for await (const request of requests) {
    const names = new Set(request.resourceNames);
    if (request.errorDetail && !isExpected(request))
      log.write("warn", `Envoy rejected a secret (${quoted(request.resourceNames)}): ${request.errorDetail.message}`);
    for (const [name, stop] of watches) {
      if (names.has(name)) continue;
      stop();
      watches.delete(name);
      count(-1);
    }
    const added = [...names].filter((name) => !watches.has(name));
    // A request over the limit is rejected before it costs anything.
    count(added.length);
    for (const [n, name] of added.entries()) {
      try {
        watches.set(
          name,
          secrets.watch(
            name,
            (secret) => queue.put(name, pack(name, secret)),
            () => queue.put(name, unusable(name)),
          ),
        );
      } catch (error) {
        count(n - added.length);
        throw new ConnectError(reasonOf(error), Code.NotFound, undefined, undefined, error);
      }
    }
  }
}

function unusable(name: string): Any {
  return anyPack(SecretSchema, unusableSecret(name));
}

/** Reports whether a rejection is that of a secret whose files cannot be used, which the log already says. */
function isExpected({ resourceNames, responseNonce }: DiscoveryRequest): boolean {
  return resourceNames.some((name) => response(name, unusable(name)).nonce === responseNonce);
}

function quoted(names: readonly string[]): string {
  const [first = "", ...others] = names;
  return `${JSON.stringify(first.slice(0, 256))}${others.length === 0 ? "" : ` and ${others.length} others`}`;
}

function response(name: string, resource: Any): DiscoveryResponse {
  const version = createHash("sha256").update(resource.value).digest("hex").slice(0, 16);
  return create(DiscoveryResponseSchema, {
    typeUrl: secretType,
    versionInfo: version,
    nonce: `${name}/${version}`,
    resources: [resource],
  });
}
