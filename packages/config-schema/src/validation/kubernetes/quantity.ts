const factors: ReadonlyMap<string, number> = new Map(
  Object.entries({
    n: 1e-9,
    u: 1e-6,
    m: 1e-3,
    "": 1,
    k: 1e3,
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
  }),
);

/**
 * Returns the number that a quantity of Kubernetes stands for, such as 0.5 for `500m` and 1,073,741,824 for `1Gi`;
 * undefined if the text is not a quantity.
 */
export function quantityOf(text: string): number | undefined {
  const [, number, suffix = ""] = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = factors.get(suffix);
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}
