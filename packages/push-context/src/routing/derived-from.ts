/** An object of the Gateway API, or an Ingress, that an object of Istio stands for. */
export interface GatewayApiSource {
  /** For example `HTTPRoute` or `Gateway`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Annotation of generated objects, from the Gateway API or Ingresses: `kind/name.namespace` of each source. */
const parentsAnnotation = "internal.istio.io/parents";

/**
 * Returns the objects of the Gateway API, or the Ingresses, that an object with annotations stands for, the oldest
 * first; none if it was declared as it is. The name of a listener, `kind/name/listener.namespace`, is left out.
 */
export function derivedFrom(annotations: Readonly<Record<string, string>>): readonly GatewayApiSource[] {
  let sources = known.get(annotations);
  if (sources === undefined) known.set(annotations, (sources = sourcesOf(annotations)));
  return sources;
}

/** Sources by annotations, which are immutable: those of an object that stands for many routes are long. */
const known = new WeakMap<Readonly<Record<string, string>>, readonly GatewayApiSource[]>();

function sourcesOf(annotations: Readonly<Record<string, string>>): readonly GatewayApiSource[] {
  const parents = annotations[parentsAnnotation] ?? "";
  const sources = parents.split(",").flatMap((parent): readonly (readonly [string, GatewayApiSource])[] => {
    const dot = parent.lastIndexOf(".");
    const [kind = "", name] = parent.slice(0, dot).split("/");
    const namespace = parent.slice(dot + 1);
    return name === undefined ? [] : [[`${kind}/${namespace}/${name}`, { kind, namespace, name }]];
  });
  return [...new Map(sources).values()];
}
