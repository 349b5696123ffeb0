import { collection, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { followRootCertificates, rootCertificateInput, type RootCertificates } from "./root-certificates.js";

const bundleName = "istio.io:istiod-ca:root-cert";
const signerName = "istio.io/istiod-ca";

const bundleType: ResourceType = {
  group: "certificates.k8s.io",
  version: "v1beta1",
  kind: "ClusterTrustBundle",
  plural: "clustertrustbundles",
  namespaced: false,
};

interface Bundle {
  readonly trustBundle: string | undefined;
}

/** Returns the controller of the ClusterTrustBundle with the mesh's root certificates. */
export function clusterTrustBundleController(roots: RootCertificates): Controller {
  const bundles = collection<Observed<Bundle>>("ClusterTrustBundle");
  const targets = query("clusterTrustBundles", (): readonly string[] => [bundleName]);
  const write = query("clusterTrustBundle", (q, name: string): Write | undefined => {
    const trustBundle = q.read(rootCertificateInput, "");
    const observed = q.read(bundles, name);
    if (trustBundle === undefined || observed?.value.trustBundle === trustBundle) return undefined;
    const target = { type: bundleType, base: observed?.resourceVersion };
    if (observed !== undefined)
      return { ...target, action: "update", name: { name }, fields: { spec: { trustBundle } } };
    const object = { metadata: { name }, spec: { signerName, trustBundle } } as KubernetesObject;
    return { ...target, action: "create", object };
  });
  const watch: Watch<Bundle> = {
    type: bundleType,
    collection: bundles,
    fields: { spec: { trustBundle: true } },
    fieldSelector: `metadata.name=${bundleName}`,
    select: (object) => ({ trustBundle: (object as { readonly spec?: Partial<Bundle> }).spec?.trustBundle }),
  };
  return {
    name: "clustertrustbundle controller",
    fieldManager: "istiod-clustertrustbundle-controller",
    watches: [watch as Watch],
    inputs: (database) => followRootCertificates(roots, database),
    targets,
    write,
  };
}
