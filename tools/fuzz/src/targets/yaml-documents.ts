import { isDeepStrictEqual } from "node:util";
import {
  allKinds,
  type DocumentText,
  PolicyScanner,
  readDocument,
  readInSlices,
  type Reading,
  splitDocuments,
} from "@istiod/config-schema";
import type { Target } from "../target.js";

const policy = `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny, namespace: shop, labels: {app: "cart"}}
spec:
  selector:
    matchLabels: {app: cart}
  action: DENY
  rules:
  - to: [{operation: {paths: ["/admin*"], ports: ["80"]}}]
`;
const list = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: &meta {name: cart, namespace: shop}
  spec: {ports: [{port: 80, name: http}], clusterIP: 10.0.0.1}
- apiVersion: v1
  kind: ConfigMap
  metadata: *meta
  data: {<<: {a: "1"}, b: "2"}
`;
const seeds = [
  policy,
  list,
  `---\n# two documents\n${policy}---\n${list}`,
  JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "Sidecar", metadata: { name: "a" }, spec: {} }),
  "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
  "__proto__: {polluted: true}\nconstructor: {prototype: {polluted: true}}\n",
];
const words = [
  "---\n",
  "&a ",
  "*a",
  "<<: *a",
  "__proto__",
  "constructor",
  "!!binary ",
  "%YAML 1.1\n",
  "kind: ",
  "[",
  "{",
  "|\n",
];

/** Reads each item of a List on its own. */
function inSlices(document: DocumentText): Reading {
  const steps = readInSlices(document, "a.yaml", {}, 1);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Files of objects: every document is read or rejected, and nothing else changes. */
export const yamlDocuments: Target = {
  name: "yaml-documents",
  description: "YAML files of objects",
  seeds: seeds.map((text) => Buffer.from(text)),
  dictionary: words.map((word) => Buffer.from(word)),
  run(input) {
    const text = Buffer.from(input).toString("utf8");
    const scanner = new PolicyScanner({ cluster: "Kubernetes", kinds: allKinds, revision: "" });
    scanner.add(text);
    const scanned = scanner.end();
    for (const document of splitDocuments(text)) {
      const reading = readDocument(document, "a.yaml");
      const { objects, problems, unreadable } = reading;
      if (!isDeepStrictEqual(inSlices(document), reading)) throw new Error("a List is read otherwise in slices");
      if (unreadable && problems.length === 0) throw new Error("a document is unreadable without a problem");
      for (const { object, substitute, key } of objects) {
        if (object === undefined && problems.length === 0) throw new Error(`${key} is rejected without a problem`);
        if (substitute !== undefined && substitute.namespace === "") throw new Error(`${key} closes no namespace`);
      }
    }
    if (scanned.some(({ substitute }) => substitute.name === ""))
      throw new Error("a policy that was found has no name");
    if (Object.keys(Object.prototype).length > 0) throw new Error("the document changed Object.prototype");
  },
};
