import { isJsonObject, type Json } from "@istiod/explain";

/** Rules by which golden files leave out what most resources have in common. Nothing that deviates is left out. */
export interface Abbreviations {
  /** Values that are written as `$name`. */
  readonly values: { readonly [name: string]: Json };
  /**
   * Fields that are left out where they have these values. Keyed by message name for resources and packed messages, and
   * by the containing field for others. A field listed here that is unset is written as `(unset)`.
   */
  readonly defaults: { readonly [message: string]: { readonly [field: string]: Json } };
}

/** Abbreviates JSON forms of resources. */
export class Abbreviator {
  readonly #names = new Map<string, string>();
  readonly #defaults: Abbreviations["defaults"];

  /** @throws Error if a value refers to a later value, or to one that does not exist */
  constructor({ values, defaults }: Abbreviations) {
    const expanded = new Map<string, Json>();
    for (const [name, value] of Object.entries(values)) {
      const whole = expand(value, expanded);
      expanded.set(name, whole);
      this.#names.set(canonical(whole), `$${name}`);
    }
    this.#defaults = Object.fromEntries(
      Object.entries(defaults).map(([message, fields]) => [
        message,
        Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, expand(value, expanded)])),
      ]),
    );
  }

  /** @param message name of the value's message, or of the field that contains it */
  abbreviate(value: Json, message: string): Json {
    const name = this.#names.get(canonical(value));
    if (name !== undefined) return name;
    if (Array.isArray(value)) return value.map((item) => this.abbreviate(item, message));
    if (!isJsonObject(value)) return value;
    const address = socketAddress(value);
    if (address !== undefined) return address;
    const { "@type": typeUrl, ...fields } = value;
    const packed = typeof typeUrl === "string" ? (typeUrl.split(".").at(-1) ?? typeUrl) : undefined;
    const defaults = this.#defaults[packed ?? message] ?? {};
    const shown = Object.entries(fields)
      .filter(([field, fieldValue]) => !(field in defaults) || canonical(fieldValue) !== canonical(defaults[field]))
      .map(([field, fieldValue]) => [field, this.abbreviate(fieldValue, field)] as const);
    const unset = Object.keys(defaults)
      .filter((field) => !(field in fields))
      .map((field) => [field, "(unset)"] as const);
    return Object.fromEntries([
      ...(packed === undefined ? [] : [["@type", packed] as const]),
      ...shown,
      ...unset,
    ]) as Json;
  }
}

/** Returns `address:port` for an address that has nothing else. */
function socketAddress(value: { readonly [field: string]: Json }): string | undefined {
  const socket = value["socketAddress"];
  if (Object.keys(value).length !== 1 || !isJsonObject(socket)) return undefined;
  const { address, portValue, ...others } = socket;
  return typeof address === "string" && typeof portValue === "number" && Object.keys(others).length === 0
    ? `${address}:${portValue}`
    : undefined;
}

/** Replaces `$name` by the value of that name, at any depth. */
function expand(value: Json, names: ReadonlyMap<string, Json>): Json {
  if (typeof value === "string" && value.startsWith("$")) {
    const found = names.get(value.slice(1));
    if (found === undefined) throw new Error(`${value} is not among the preceding values`);
    return found;
  }
  if (Array.isArray(value)) return value.map((item) => expand(item, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([field, item]) => [field, expand(item ?? null, names)]));
}

/** Returns JSON text that does not depend on the order of fields. */
function canonical(value: Json | undefined): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
