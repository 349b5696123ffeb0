import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ClientConfig_GenericXdsConfigSchema,
  ClientConfigSchema,
  ConfigStatus,
} from "@istiod/envoy-api/envoy/service/status/v3/csds";
import type { Proxy } from "@istiod/push-context";
import type { Answer, Connection, Subscription } from "@istiod/xds-server";
import { proxyConnections } from "./proxies.js";

const clientConfigType = "type.googleapis.com/envoy.service.status.v3.ClientConfig";

/**
 * The state of each proxy in the form of Envoy's client status discovery service, for `istioctl proxy-status`: one
 * `ClientConfig` a proxy, with the status of each type that it watches. Streams that watch nothing, such as those of
 * tools that ask for this, are no proxies. Source: pilot/pkg/xds/statusgen.go, debugSyncz.
 *
 * @param namespace Limits the result to proxies of this namespace. Undefined: all
 */
export function clientConfigs(
  connections: readonly Connection[],
  proxyOf: (connection: Connection) => Proxy,
  namespace: string | undefined,
): Answer["resources"] {
  return proxyConnections(connections, proxyOf).flatMap((connection) => {
    const { metadata, namespace: own, nodeId } = proxyOf(connection);
    if (namespace !== undefined && own !== namespace) return [];
    const { CLUSTER_ID, NAMESPACE, ISTIO_VERSION } = metadata;
    const told = Object.entries({ CLUSTER_ID, NAMESPACE, ISTIO_VERSION }).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "",
    );
    const configs = [...connection.subscriptions].sort((a, b) => (a.typeUrl < b.typeUrl ? -1 : 1)).map(genericConfig);
    const message = create(ClientConfigSchema, {
      node: { id: nodeId, metadata: Object.fromEntries(told) },
      genericXdsConfigs: configs,
    });
    return [{ name: nodeId, typeUrl: clientConfigType, bytes: toBinary(ClientConfigSchema, message) }];
  });
}

function genericConfig(subscription: Subscription): MessageInitShape<typeof ClientConfig_GenericXdsConfigSchema> {
  const { typeUrl, sentAt, lastError } = subscription;
  const sent = sentAt === undefined ? undefined : timestampFromMs(Math.round(sentAt));
  return {
    typeUrl,
    configStatus: statusOf(subscription),
    ...(sent && { lastUpdated: sent }),
    ...(lastError && {
      errorState: { details: detailsOf(subscription) ?? lastError.message, ...(sent && { lastUpdateAttempt: sent }) },
    }),
  };
}

/** Returns the rejected resources with the reason of each; undefined if none is known. */
function detailsOf({ unaccepted }: Subscription): string | undefined {
  const reasons = unaccepted.flatMap(({ name, state, rejection }) =>
    state === "rejected" && rejection !== undefined ? [`${name}: ${rejection.reason}`] : [],
  );
  return reasons.length === 0 ? undefined : reasons.join("\n");
}

function statusOf({ lastError, nonceSent, nonceAcked, unaccepted, unremoved }: Subscription): ConfigStatus {
  if (lastError !== undefined) return ConfigStatus.ERROR;
  if (nonceSent === "") return ConfigStatus.NOT_SENT;
  return nonceSent === nonceAcked && unaccepted.length + unremoved.length === 0
    ? ConfigStatus.SYNCED
    : ConfigStatus.STALE;
}
