import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import {
  type Secret as EnvoySecret,
  SecretSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { SecretDiscoveryService } from "@istiod/envoy-api/envoy/service/secret/v3/sds";
import { secretType } from "@istiod/resources";
import type { Secret, SecretSource } from "../certificates/secret.js";
import { reasonOf } from "../errors.js";
import { type Log, silentLog } from "../log.js";
import { CoalescingQueue } from "./coalescing-queue.js";

/** Returns the routes of SDS (`envoy.service.secret.v3.SecretDiscoveryService`, state of the world). */
export function sdsRoutes(secrets: SecretSource, log: Log = silentLog): (router: ConnectRouter) => void {
  return (router) => router.service(SecretDiscoveryService, sdsService(secrets, log));
}

/**
 * Sends a secret once it is available and after each change. A secret that is not available yet is not an error:
 * Envoy's listeners wait for it either way.
 */
function sdsService(secrets: SecretSource, log: Log): Partial<ServiceImpl<typeof SecretDiscoveryService>> {
  return {
    async *streamSecrets(requests, { signal }) {
      const queue = new CoalescingQueue<string, Any>();
      const watches = new Map<string, () => void>();
      const close = (): void => {
        for (const stop of watches.values()) stop();
        queue.close();
      };
      signal.addEventListener("abort", close, { once: true });
      void followRequests(requests, { queue, watches, secrets, log })
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
  readonly log: Log;
}

async function followRequests(
  requests: AsyncIterable<DiscoveryRequest>,
  { queue, watches, secrets, log }: Stream,
): Promise<void> {
  for await (const request of requests) {
    if (request.errorDetail)
      log.warn({ secrets: request.resourceNames }, `Envoy rejected a secret: ${request.errorDetail.message}`);
    for (const [name, stop] of watches) {
      if (request.resourceNames.includes(name)) continue;
      stop();
      watches.delete(name);
    }
    for (const name of request.resourceNames) {
      if (watches.has(name)) continue;
      try {
        watches.set(
          name,
          secrets.watch(name, (secret) => queue.put(name, anyPack(SecretSchema, envoySecret(name, secret)))),
        );
      } catch (error) {
        throw new ConnectError(reasonOf(error), Code.NotFound, undefined, undefined, error);
      }
    }
  }
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

function envoySecret(name: string, secret: Secret): EnvoySecret {
  const inline = (text: string) => ({ specifier: { case: "inlineBytes" as const, value: Buffer.from(text) } });
  return create(SecretSchema, {
    name,
    type:
      secret.kind === "roots"
        ? { case: "validationContext", value: { trustedCa: inline(secret.roots) } }
        : { case: "tlsCertificate", value: { certificateChain: inline(secret.chain), privateKey: inline(secret.key) } },
  });
}
