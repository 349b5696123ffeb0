import { create, toBinary } from "@bufbuild/protobuf";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { type Resource, resource } from "@istiod/resources";
import { endpointType, routeType, secretType } from "@istiod/xds-server";
import { certificateFor } from "../certificates.js";

/**
 * Returns a lookup of endpoints, routes and secrets of any name, which Envoy requests because other resources refer to
 * them. Envoy acknowledges clusters only once all of them are warm, and a cluster is warm once it has its endpoints and
 * secrets.
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

/** Reports whether a secret holds root certificates only, by Istio's naming convention. */
function isForValidation(name: string): boolean {
  return name === "ROOTCA" || name.startsWith("file-root:") || name.endsWith("-cacert");
}
