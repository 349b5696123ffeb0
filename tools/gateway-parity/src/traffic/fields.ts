import { type MeshObject, namespaces, rare } from "@istiod/gateway-api/testing";
import fc from "fast-check";

const { constantFrom, record, oneof } = fc;

const root = "istio-system";
/** A namespace of the mesh, now and then the root namespace. */
export const anyNamespace = constantFrom(...namespaces, ...namespaces, root);

/** Hosts of Services and ServiceEntries, as objects of the namespace `shop` may name them. */
const hosts = [
  "cart",
  "cart.shop.svc.cluster.local",
  "web.shop.svc.cluster.local",
  "ledger.payments.svc.cluster.local",
  "ledger.payments",
  "orders.shop.svc.cluster.local",
  "multi.payments.svc.cluster.local",
  "bare.shop.svc.cluster.local",
  "rates.example.net",
  "a.partners.example.net",
  "x.any.example.net",
  "own.example.org",
  "dns.example.org",
  "absent.example.org",
] as const;
export const host = constantFrom(...hosts);
/** Hosts that several services match. */
export const wildcard = constantFrom("*.shop.svc.cluster.local", "*.example.net", "*.local", "*.any.example.net", "*");

/** Namespaces that see an object; for all by default. */
export const exportTo = rare(constantFrom<readonly string[]>(["."], ["*"], ["payments"], [".", "infra"], ["~"]));

export const labels = constantFrom<Readonly<Record<string, string>>>(
  { app: "web" },
  { app: "ledger" },
  { app: "cart" },
  { istio: "ingress" },
  { app: "absent" },
);
export const workloadSelector = rare(labels.map((of) => ({ labels: of })));
/** The selector of policies. */
export const selector = rare(labels.map((matchLabels) => ({ matchLabels })));

export const duration = constantFrom("0.001s", "1s", "2.5s", "10s", "3600s");
export const weight = constantFrom(0, 1, 20, 50, 100);
export const port = constantFrom(80, 81, 82, 443, 7000, 7070, 8080, 9000, 9999);
export const percent = constantFrom(0, 0.01, 1, 33.3, 50, 100);

export const stringMatch = (values: readonly string[]): fc.Arbitrary<object> =>
  oneof<fc.Arbitrary<object>[]>(
    constantFrom(...values).map((exact) => ({ exact })),
    constantFrom(...values).map((prefix) => ({ prefix })),
    constantFrom(...values).map((of) => ({ regex: `${of.replaceAll(/[.*+?]/g, ".")}.*` })),
  );

/** A point in the first seconds of the mesh: many objects are equally old. */
const creationTimestamp = fc.integer({ min: 0, max: 5 }).map((second) => `2024-01-01T00:00:0${second}Z`);

/** Objects of a kind of Istio. Their names differ by number, and their order is not that of their age. */
export function objects(
  apiVersion: string,
  kind: string,
  spec: fc.Arbitrary<object>,
  most: number,
  of: fc.Arbitrary<string> = anyNamespace,
): fc.Arbitrary<readonly MeshObject[]> {
  const metadata = record({ namespace: of, creationTimestamp });
  return fc.array(fc.tuple(metadata, spec), { maxLength: most }).map((all) =>
    all.map(([each, content], index) => ({
      apiVersion,
      kind,
      metadata: { ...each, name: `${"zyx".charAt(index % 3)}-${kind.toLowerCase()}-${index}` },
      // Without the fields that are undefined, as a file or an API server has it.
      spec: JSON.parse(JSON.stringify(content)) as object,
    })),
  );
}
