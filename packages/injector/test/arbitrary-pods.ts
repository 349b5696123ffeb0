import fc from "fast-check";

/** Few names, so that patches often meet what is there. */
const name = fc.constantFrom("a", "b", "c", "d");
const labels = fc.dictionary(name, fc.constantFrom("1", "2"), { maxKeys: 3 });

const port = fc.record(
  { containerPort: fc.constantFrom(80, 81, 82), name, protocol: fc.constantFrom("TCP", "UDP") },
  { requiredKeys: ["containerPort"] },
);
const variable = fc.oneof(
  fc.record({ name, value: name }),
  fc.record({ name, valueFrom: fc.record({ fieldRef: fc.record({ fieldPath: name }) }) }),
);
const quantities = fc.dictionary(fc.constantFrom("cpu", "memory"), fc.constantFrom("1", "500m", "1Gi"), { maxKeys: 2 });
const container = fc.record(
  {
    name,
    image: name,
    args: fc.array(name, { maxLength: 3 }),
    env: fc.uniqueArray(variable, { selector: (v) => v.name, maxLength: 3 }),
    ports: fc.uniqueArray(port, { selector: (p) => p.containerPort, maxLength: 3 }),
    resources: fc.record({ limits: quantities, requests: quantities }, { requiredKeys: [] }),
    securityContext: fc.record(
      { runAsUser: fc.nat(3), capabilities: fc.record({ drop: fc.array(name, { maxLength: 2 }) }) },
      { requiredKeys: [] },
    ),
    volumeMounts: fc.uniqueArray(fc.record({ name, mountPath: name }), { selector: (m) => m.mountPath, maxLength: 3 }),
  },
  { requiredKeys: ["name"] },
);
const containers = fc.uniqueArray(container, { selector: (c) => c.name, maxLength: 4 });
const volume = fc.oneof(
  fc.record({ name, emptyDir: fc.record({ medium: name }, { requiredKeys: [] }) }),
  fc.record({ name, configMap: fc.record({ name, items: fc.array(fc.record({ key: name, path: name })) }) }),
);

/** Pods with a few containers, volumes and labels. */
export const arbitraryPod = fc.record({
  metadata: fc.record(
    { name, labels, annotations: labels, finalizers: fc.uniqueArray(name, { maxLength: 4 }) },
    { requiredKeys: [] },
  ),
  spec: fc.record(
    {
      containers,
      initContainers: containers,
      volumes: fc.uniqueArray(volume, { selector: (v) => v.name, maxLength: 3 }),
      nodeSelector: labels,
      tolerations: fc.array(fc.record({ key: name }), { maxLength: 2 }),
    },
    { requiredKeys: ["containers"] },
  ),
});

type Json = unknown;

/** Patches: parts of pods with nulls and directives at random places, valid or not. */
export const arbitraryPatch: fc.Arbitrary<Json> = fc
  .tuple(arbitraryPod, fc.infiniteStream(fc.nat(99)))
  .map(([pod, stream]) => disturb(pod, stream[Symbol.iterator](), "pod"));

const order = fc.sample(fc.shuffledSubarray(["a", "b", "c", "d"]), { numRuns: 32, seed: 7 });

/** Adds nulls and directives to objects and lists, by a stream of numbers below 100. */
function disturb(value: Json, chance: Iterator<number>, key: string): Json {
  const next = (): number => chance.next().value as number;
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => disturb(item, chance, "item"));
    const isKeyed = items.some((item) => typeof item === "object" && item !== null && "name" in item);
    if (isKeyed && next() < 10) return [...items, { $patch: "replace" }];
    if (isKeyed && next() < 15) return [...items, { name: "a", $patch: "delete" }];
    return items;
  }
  if (typeof value !== "object" || value === null) return value;
  const result: Record<string, Json> = {};
  for (const [name, item] of Object.entries(value)) {
    const draw = next();
    result[name] = draw < 6 && name !== "name" ? null : disturb(item, chance, name);
    // After a deletion, the library orders by a list that it has overwritten.
    const deletes = JSON.stringify(result[name])?.includes('"$patch":"delete"');
    if (Array.isArray(item) && draw >= 90 && !deletes) addDirective(result, name, item, next());
  }
  const draw = next();
  if (key !== "pod" && draw < 4) result["$patch"] = draw < 2 ? "delete" : "replace";
  if (key === "emptyDir" && draw > 60) result["$retainKeys"] = ["medium"];
  return result;
}

function addDirective(object: Record<string, Json>, name: string, list: readonly Json[], draw: number): void {
  const names = order[draw % order.length] ?? [];
  if (name === "finalizers") {
    // The library applies both lists in random order.
    const deleted = names.filter((item) => !list.includes(item));
    if (draw % 2 === 0) object["$deleteFromPrimitiveList/finalizers"] = deleted;
    else object["$setElementOrder/finalizers"] = [...new Set([...(list as readonly string[]), ...names])];
  } else if (name === "containers" || name === "volumes" || name === "env") {
    const own = (list as readonly { readonly name: string }[]).map((item) => item.name);
    object[`$setElementOrder/${name}`] = [...new Set([...own, ...names])].map((item) => ({ name: item }));
  }
}
