import type { DescMessage, FileRegistry } from "@bufbuild/protobuf";
import type { JsonSchema } from "./json-schema.js";
import { messageSchema } from "./message-schema.js";
import { type Options, optionsIn, type Resource } from "./options.js";
import { topLevelMessages } from "./read-protos.js";

const STATUS = "istio.meta.v1alpha1.IstioStatus";
const LABELS = { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" };
/** Groups whose definitions have a label `istio`, by which tools select them. */
const LABELLED_GROUPS: Readonly<Record<string, string>> = {
  "security.istio.io": "security",
  "telemetry.istio.io": "telemetry",
};

/** A CustomResourceDefinition of `apiextensions.k8s.io/v1`. */
export interface CustomResourceDefinition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations: Readonly<Record<string, string>>;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly scope: string;
    readonly versions: readonly DefinedVersion[];
  };
}

interface DefinedVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: JsonSchema };
}

/**
 * Returns the definitions of all kinds in the registry, sorted by name.
 *
 * @throws Error if a schema cannot be expressed, with the name of the message
 */
export function customResourceDefinitions(registry: FileRegistry): readonly CustomResourceDefinition[] {
  const options = optionsIn(registry);
  const status = registry.getMessage(STATUS);
  if (!status) throw new Error(`${STATUS} is not defined`);
  // Other controllers write fields of their own into the status.
  const statusSchema = { ...messageSchema(status, options), "x-kubernetes-preserve-unknown-fields": true };
  return topLevelMessages(registry)
    .flatMap((message) => {
      const resource = options.resource(message);
      return resource ? [definitionOf(message, resource, options, statusSchema)] : [];
    })
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function definitionOf(message: DescMessage, resource: Resource, options: Options, status: JsonSchema) {
  const { group, plural, versions, shortNames, specRequired, columns } = resource;
  const openAPIV3Schema: JsonSchema = {
    type: "object",
    properties: { spec: messageSchema(message, options), status },
    ...(specRequired && { required: ["spec"] }),
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      // Without its definition, Kubernetes deletes all objects of a kind.
      annotations: { "helm.sh/resource-policy": "keep" },
      labels: { ...LABELS, ...(LABELLED_GROUPS[group] && { istio: LABELLED_GROUPS[group] }) },
    },
    spec: {
      group,
      names: {
        kind: message.name,
        listKind: `${message.name}List`,
        plural,
        singular: message.name.toLowerCase(),
        ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
        categories: ["istio-io", group.replaceAll(".", "-")],
      },
      scope: "Namespaced",
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        subresources: { status: {} },
        ...(columns.length > 0 && {
          additionalPrinterColumns: columns.map(({ name: heading, type, path }) => ({
            name: heading,
            type,
            jsonPath: path,
          })),
        }),
        schema: { openAPIV3Schema },
      })),
    },
  };
}
