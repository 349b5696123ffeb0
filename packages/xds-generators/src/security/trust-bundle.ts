import { X509Certificate } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { collection, type Collection, query } from "@istiod/incremental";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { bundleEndpointUrl, type KeySetFetch, type KeySetSource, readSpiffeBundle, sourceKey } from "@istiod/jwks";
import { mesh } from "@istiod/push-context";
import { resource, ResourceSet } from "@istiod/resources";

/**
 * Roots of the mesh's own authorities in PEM, by an empty key. Present only if agents are sent the roots of the mesh
 * (`ISTIO_MULTIROOT_MESH`).
 */
export const trustAnchors: Collection<readonly string[]> = collection<readonly string[]>("TrustAnchors");

/** SPIFFE bundles as text, by `sourceKey`. They are fetched and committed outside of queries. */
export const spiffeBundles: Collection<string> = collection<string>("SpiffeBundle");

/** Fetches of SPIFFE bundles that are not current, by `sourceKey`. The resources of agents do not depend on them. */
export const spiffeBundleFetches: Collection<KeySetFetch> = collection<KeySetFetch>("SpiffeBundleFetch");

/** Timeout of a fetch. Source: pilot/pkg/trustbundle. */
const timeoutMs = 10_000;

/** The endpoints of the SPIFFE bundles in `caCertificates` of the mesh configuration, if agents are sent roots. */
export const spiffeBundleEndpoints = query("spiffeBundleEndpoints", (q): readonly KeySetSource[] => {
  if (q.read(trustAnchors, "") === undefined) return [];
  return mesh(q).caCertificates.flatMap(({ certificateData }) => {
    const jwksUri = certificateData.case === "spiffeBundleUrl" ? bundleEndpointUrl(certificateData.value) : undefined;
    return jwksUri === undefined ? [] : [{ issuer: "", jwksUri, timeoutMs }];
  });
});

const rootsOfBundle = query("rootsOfBundle", (q, key: string): readonly string[] => {
  const bundle = q.read(spiffeBundles, key);
  return bundle === undefined ? [] : (readSpiffeBundle(bundle).roots ?? []);
});

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
  const fetched = q.call(spiffeBundleEndpoints).flatMap((source) => q.call(rootsOfBundle, sourceKey(source)));
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
