import { create, toBinary } from "@bufbuild/protobuf";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { type Resource, resource } from "@istiod/resources";
import { endpointType, routeType, secretType } from "@istiod/xds-server";
import { certificateFor } from "../certificates.js";

/**
 * What Envoy asks for beside what it is offered: endpoints, routes and secrets of any name. Envoy answers for clusters
 * only when all of them are warm, and a cluster is warm when it has its endpoints and secrets.
 */
export async function supplies(): Promise<(typeUrl: string, name: string) => Resource | undefined> {
  const { root, server } = await certificateFor("example.org");
  const inline = (text: string) => ({ specifier: { case: "inlineString", value: text } }) as const;
  const makers: Readonly<Record<string, (name: string) => Uint8Array>> = {
    [endpointType]: (clusterName) =>
      toBinary(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName })),
    [routeType]: (name) => toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { name })),
    [secretType]: (name) => {
      const type = isForValidation(name)
        ? ({ case: "validationContext", value: { trustedCa: inline(root) } } as const)
        : ({
            case: "tlsCertificate",
            value: { certificateChain: inline(server.cert), privateKey: inline(server.key) },
          } as const);
      return toBinary(SecretSchema, create(SecretSchema, { name, type }));
    },
  };
  return (typeUrl, name) => {
    const bytes = makers[typeUrl]?.(name);
    return bytes && resource(name, bytes);
  };
}

/** Istio's names of secrets that hold roots and no certificate. */
function isForValidation(name: string): boolean {
  return name === "ROOTCA" || name.startsWith("file-root:") || name.endsWith("-cacert");
}
