import { fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { ClientConfigSchema } from "@istiod/envoy-api/envoy/service/status/v3/csds";
import { messageRegistry } from "@istiod/explain";
import { clientConfigs } from "./client-configs.js";
import type { DebugCommand } from "./command.js";
import { controlPlaneIdentifier } from "./control-plane.js";
import type { StreamCommandsOptions } from "./proxy-commands.js";

/** `/debug/client_status`: the answer to `istio.io/debug/syncz` as JSON, for programs that do not speak xDS. */
export function clientStatusCommand({ server, proxyOf, instance }: StreamCommandsOptions): DebugCommand {
  return {
    name: "client_status",
    about: "Status of each type of each connected proxy, as istio.io/debug/syncz answers over xDS; ?namespace=",
    answer: ({ query, namespace }) => {
      const registry = messageRegistry();
      const resources = clientConfigs(
        server.connections(),
        proxyOf,
        namespace ?? (query.get("namespace") || undefined),
      ).map(({ typeUrl, bytes }) => {
        return {
          "@type": typeUrl,
          ...(toJson(ClientConfigSchema, fromBinary(ClientConfigSchema, bytes), { registry }) as JsonObject),
        };
      });
      return {
        json: {
          typeUrl: "istio.io/debug/syncz",
          resources,
          controlPlane: { identifier: controlPlaneIdentifier(instance) },
        },
      };
    },
  };
}
