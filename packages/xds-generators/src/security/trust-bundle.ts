import { X509Certificate } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { collection, type Collection, query } from "@istiod/incremental";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { mesh } from "@istiod/push-context";
import { resource, ResourceSet } from "@istiod/resources";

/**
 * Roots in PEM: those of the mesh's own CA by an empty key, and those of SPIFFE bundles by `spiffeAnchors`. The former
 * are present only if agents are sent the roots of the mesh (`ISTIO_MULTIROOT_MESH`).
 */
export const trustAnchors: Collection<readonly string[]> = collection<readonly string[]>("TrustAnchors");

/** Key of the roots of the SPIFFE bundles in `caCertificates` of the mesh configuration. */
export const spiffeAnchors = "SPIFFE bundles";

/**
 * The proxy configuration for agents, one unnamed resource: the roots of the CA, and those in `caCertificates` of the
 * mesh configuration and in the SPIFFE bundles that it names, without repetitions, sorted. Source:
 * pilot/pkg/xds/pcds.go, pilot/pkg/trustbundle.
 */
export const proxyConfigs = query("proxyConfigs", (q): ResourceSet => {
  const own = q.read(trustAnchors, "");
  if (own === undefined) return ResourceSet.of([]);
  const configured = mesh(q).caCertificates.flatMap(({ certificateData }) =>
    certificateData.case === "pem" && isCaCertificate(certificateData.value) ? [certificateData.value] : [],
  );
  const fetched = q.read(trustAnchors, spiffeAnchors) ?? [];
  const caCertificatesPem = [...new Set([...own, ...configured, ...fetched].map((pem) => `${pem.trim()}\n`))].sort();
  return ResourceSet.of([resource("", toBinary(ProxyConfigSchema, create(ProxyConfigSchema, { caCertificatesPem })))]);
});

/** Reports whether a text is one CA certificate. Agents reject a configuration with any other. */
export function isCaCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
