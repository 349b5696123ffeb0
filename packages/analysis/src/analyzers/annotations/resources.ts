/** Suffixes of quantities, and what they stand for. */
const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Returns the number that a quantity of Kubernetes stands for; undefined if it is malformed. */
function quantityOf(text: string): number | undefined {
  const [, number, suffix = ""] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = suffixes[suffix];
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}

/**
 * Returns the faults of annotations by name, as predicates, which set requests of the proxy above its limits. The API
 * server rejects such Pods.
 */
export function resourceFaults(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  for (const name of ["sidecar.istio.io/proxyCPU", "sidecar.istio.io/proxyMemory"]) {
    const [request = "", limit = ""] = [annotations[name], annotations[`${name}Limit`]];
    const [asked, most] = [quantityOf(request), quantityOf(limit)];
    if (asked !== undefined && most !== undefined && asked > most)
      faults[name] = `is ${request}, which is more than the limit ${limit}, so that the Pod cannot be created`;
  }
  return faults;
}
