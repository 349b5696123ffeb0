import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { customResourceDefinitions } from "../src/definitions/custom-resource-definitions.js";
import { readProtos } from "../src/definitions/read-protos.js";

const published = fileURLToPath(new URL("../../../../shared/peer/crds/crd-all.gen.yaml", import.meta.url));

type Value = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Value => typeof value === "object" && value !== null;

/** Rules say the same in other words, so only their number is compared. Their verdicts are tested with an API server. */
const RULES = "x-kubernetes-validations";
const PORT_RULE = "0 < self && self <= 65535";
/** Two of Istio's three rules for a server's TLS settings are the same. */
const SAME_RULE = /^\(has\(self\.credentialNames\) .*tlsCertificates\).*<= 1$/;

/** Returns a form in which equal schemas are equal: without descriptions, names of versions as keys, sorted sets. */
function normal(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => normal(item));
    if (key === "versions") return Object.fromEntries(items.map((item) => [(item as { name: string }).name, item]));
    const isSet = ["required", "oneOf", "anyOf", "allOf", "enum", "categories"].includes(key);
    return isSet ? items.map((item) => JSON.stringify(item)).toSorted() : items;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value)
    .filter(([name, child]) => !(name === "description" && typeof child === "string") && name !== RULES)
    .map(([name, child]) => [name, name === "properties" ? normalProperties(child as Value) : normal(child, name)]);
  const result = Object.fromEntries(entries) as Record<string, unknown>;
  const rules = ((value[RULES] ?? []) as readonly { readonly rule: string }[]).filter(({ rule }) => {
    if (rule === PORT_RULE) Object.assign(result, { minimum: 1, maximum: 65535 });
    return rule !== PORT_RULE && !SAME_RULE.test(rule);
  });
  if (rules.length > 0) result["rules"] = rules.length;
  return sorted(result);
}

/** Fields of Istio's API 1.32, which the published definitions are older than. */
const newerFields = new Set(["alpnProtocols", "caCertCredentialName", "failurePercentageThreshold"]);

function normalProperties(properties: Value): Value {
  const known = Object.entries(properties).filter(([name]) => !newerFields.has(name));
  return sorted(Object.fromEntries(known.map(([name, child]) => [name, normal(child)])));
}

function sorted(value: Value): Value {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

test("the definitions of Istio's groups are those that Istio publishes, except for descriptions and the wording of rules", async (context) => {
  context.skip(!existsSync(published), "../shared/peer/crds is not there");
  const expected = parseAllDocuments(readFileSync(published, "utf8")).map((document) => document.toJS() as unknown);
  const byName = (definitions: readonly unknown[]): Value =>
    sorted(Object.fromEntries(definitions.map((one) => [(one as { metadata: Value }).metadata["name"], normal(one)])));
  const ofIstio = customResourceDefinitions(await readProtos()).filter(({ spec }) => spec.group.endsWith(".istio.io"));
  expect(byName(ofIstio)).toEqual(byName(expected));
});
