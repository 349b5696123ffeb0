import { systemNamespaces } from "@istiod/config-schema";
import { collection, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import { type DistributedKey, type DistributedText, distributedTexts, followText } from "./distributed-text.js";
import type { RootCertificates } from "./root-certificates.js";

export interface NamespaceControllerOptions extends Scope {
  readonly roots: RootCertificates;
  /** Name of the ConfigMaps (`PILOT_CA_CERT_CONFIGMAP`). Default: `istio-ca-root-cert`. */
  readonly configMap?: string;
  /**
   * Revocation lists in PEM, and the name of their ConfigMaps (`PILOT_CRL_CONFIGMAP`). Without lists, those in existing
   * ConfigMaps are cleared. Default: none are written.
   */
  readonly revocationLists?: { readonly text: DistributedText; readonly configMap: string };
}

/** Keys of the ConfigMaps' data. */
const rootsKey = "root-cert.pem";
const revocationListsKey = "ca-crl.pem";

/** Namespaces of Kubernetes that have no workloads of the mesh. Node agents of a mesh may run in `kube-system`. */
const ignoredNamespaces = [...systemNamespaces].filter((name) => name !== "kube-system");

const configMapType: ResourceType = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};

interface ObservedText {
  readonly text: string | undefined;
}

/**
 * Returns the controller of the ConfigMaps with the mesh's root certificates, and with the revocation lists of its
 * CAs, in every namespace. It sets one key of the data, and leaves everything else in a ConfigMap to others.
 */
export function namespaceController(options: NamespaceControllerOptions): Controller {
  const { roots, configMap = "istio-ca-root-cert", revocationLists, namespace } = options;
  const discovered = discovery(options);
  const distributed: readonly DistributedKey[] = [
    // An empty bundle would break every workload that trusts it.
    {
      configMap,
      key: rootsKey,
      text: { current: () => roots.current() || undefined, onChange: (listener) => roots.onChange(listener) },
    },
    ...(revocationLists ? [{ ...revocationLists, key: revocationListsKey }] : []),
  ];
  // A watch owns its collection.
  const kinds = new Map(
    distributed.map(({ configMap, key }) => [
      configMap,
      { key, configMaps: collection<Observed<ObservedText>>("ConfigMap") },
    ]),
  );

  const targets = query("configMaps", (q): readonly string[] =>
    q
      .call(discovered.namespaces)
      .filter((name) => !ignoredNamespaces.includes(name))
      .flatMap((name) => distributed.map((each) => `${name}/${each.configMap}`)),
  );
  const write = query("distributedConfigMap", (q, target: string): Write | undefined => {
    const [namespace = "", name = ""] = target.split("/");
    const kind = kinds.get(name);
    const text = q.read(distributedTexts, name);
    if (text === undefined || kind === undefined) return undefined;
    const observed = q.read(kind.configMaps, target);
    if ((observed?.value.text ?? "") === text) return undefined;
    const written = { type: configMapType, base: observed?.resourceVersion };
    const data = { [kind.key]: text };
    if (observed !== undefined) return { ...written, action: "update", name: { namespace, name }, fields: { data } };
    const metadata = { namespace, name, labels: { "istio.io/config": "true" } };
    return { ...written, action: "create", object: { metadata, data } as KubernetesObject };
  });

  const watches = [...kinds].map(([name, { key, configMaps }]): Watch<ObservedText> => ({
    type: configMapType,
    collection: configMaps,
    fields: { data: { [key]: true } },
    fieldSelector: `metadata.name=${name}`,
    ...(namespace !== undefined && { namespace }),
    select: (object) => ({
      text: (object as { readonly data?: Readonly<Record<string, string>> }).data?.[key],
    }),
  }));
  return {
    name: "namespace controller",
    fieldManager: "istiod-namespace-controller",
    watches: [discovered.watch, ...watches.map((watch) => watch as Watch)],
    inputs: (database) => {
      const ends = [discovered.inputs(database), ...distributed.map((each) => followText(each, database))];
      return () => ends.forEach((end) => end());
    },
    targets,
    write,
  };
}
