interface Dated {
  readonly creationTimestamp: number;
  readonly name: string;
  readonly namespace: string;
}

/** Orders objects as Istio does: by age, name and namespace. */
export function oldestFirst(a: Dated, b: Dated): number {
  return a.creationTimestamp - b.creationTimestamp || compare(a.name, b.name) || compare(a.namespace, b.namespace);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
