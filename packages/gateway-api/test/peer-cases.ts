import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { YamlMesh } from "@istiod/config-schema/testing";
import { parseAllDocuments } from "yaml";

/** A document of a case. */
export interface PeerDocument {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

const folder = fileURLToPath(new URL("../../../../shared/peer/gateway-api/", import.meta.url));

/** Names of the cases of Istio's own suite that the machine has. */
export const peerCases: readonly string[] = existsSync(folder)
  ? readdirSync(folder)
      .filter((file) => file.endsWith(".yaml"))
      .map((file) => file.slice(0, -".yaml".length))
  : [];

/** Reason for which cases are skipped where they are absent. */
export const withoutPeerCases = "no ../shared/peer/gateway-api beside the repository";

function read(file: string): string {
  return readFileSync(`${folder}${file}`, "utf8");
}

function documentsOf(text: string): readonly PeerDocument[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as PeerDocument | null) ?? []);
}

/** Returns the expected statuses of a case. */
export function expectedStatuses(name: string): readonly PeerDocument[] {
  return documentsOf(read(`${name}.status.yaml.golden`));
}

/** Returns the objects of Istio that a case expects to be derived. */
export function expectedObjects(name: string): readonly PeerDocument[] {
  return documentsOf(read(`${name}.yaml.golden`));
}

interface RegistryService {
  readonly hostname: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly externalAddresses?: Readonly<Record<string, readonly string[]>>;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}

const domain = "domain.suffix";

/** Returns the target port of the n-th port of a service: 8080 of the first, and one that no listener has of others. */
function targetPort(n: number): number {
  return n === 0 ? 8080 : n;
}

/** Returns the objects that declare a service: those of Kubernetes if its host is one of them, else a ServiceEntry. */
function declaration(service: RegistryService): readonly object[] {
  const { hostname, namespace, labels = {}, externalAddresses = {}, ports } = service;
  if (!hostname.endsWith(domain)) return [entryOf(service)];
  const name = hostname.split(".")[0] ?? "";
  const ingress = Object.values(externalAddresses)
    .flat()
    .map((ip) => ({ ip }));
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, labels },
      spec: {
        clusterIP: "10.0.0.1",
        type: ingress.length === 0 ? "ClusterIP" : "LoadBalancer",
        ports: ports.map(({ name: port, port: number }) => ({ name: port, port: number })),
      },
      status: { loadBalancer: { ingress } },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.2"], conditions: { ready: true } }],
      ports: ports.map(({ name: port }, n) => ({ name: port, port: targetPort(n), protocol: "TCP" })),
    },
  ];
}

function entryOf({ hostname, namespace, ports }: RegistryService): object {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: `registry-${hostname.replaceAll(".", "-")}`, namespace },
    spec: {
      hosts: [hostname],
      resolution: "STATIC",
      ports: ports.map(({ name, port, protocol }) => ({ name, number: port, protocol })),
      endpoints: [
        { address: "10.0.0.3", ports: Object.fromEntries(ports.map(({ name }, n) => [name, targetPort(n)])) },
      ],
    },
  };
}

interface RouteRule {
  readonly matches?: unknown;
  readonly retry?: object;
}

/**
 * Returns a manifest whose HTTPRoutes are read as Istio's suite reads them: without an API server, which would have set
 * the defaults of matches and retries.
 */
function withoutDefaults(manifest: string): string {
  return documentsOf(manifest)
    .map((document) => {
      const { kind, spec } = document;
      const rules = spec?.["rules"] as readonly RouteRule[] | undefined;
      if (kind !== "HTTPRoute" || rules === undefined) return document;
      const stated = rules.map((rule) => ({
        matches: [],
        ...rule,
        ...(rule.retry !== undefined && { retry: { attempts: 2, ...rule.retry } }),
      }));
      return { ...document, spec: { ...spec, rules: stated } };
    })
    .map((document) => `---\n${JSON.stringify(document)}\n`)
    .join("");
}

/** Returns the mesh of a case, with the services, Secrets, ConfigMaps and namespaces that every case has. */
export function peerMesh(name: string): YamlMesh<unknown> {
  const mesh = new YamlMesh<unknown>("", { rootNamespace: "istio-system" })
    .set("DOMAIN_SUFFIX", domain)
    .set("PILOT_ENABLE_AMBIENT", "true")
    .set("AMBIENT_ENABLE_MULTI_NETWORK", "true")
    .set("PILOT_ENABLE_ALPHA_GATEWAY_API", "true")
    .set("ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "true");
  const input = withoutDefaults(read(`${name}.yaml`));
  const services = JSON.parse(read("fixtures/services.json")) as readonly RegistryService[];
  const namespaces = new Set(documentsOf(input).flatMap(({ metadata: { namespace } }) => namespace ?? []));
  const objects = [
    ...services.flatMap(declaration),
    ...[...namespaces].map((namespace) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { "istio.io/test-name-part": namespace.split("-")[0] } },
    })),
  ];
  return mesh
    .apply(read("fixtures/objects.yaml"))
    .apply(objects.map((object) => `---\n${JSON.stringify(object)}\n`).join(""))
    .apply(input);
}
