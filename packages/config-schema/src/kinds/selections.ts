import { record } from "../decoding/json.js";

/**
 * Returns the selections that can be read of a rejected object: the fields of its spec that select workloads, then none
 * of them, which selects the whole namespace.
 */
export function selections(
  body: Readonly<Record<string, unknown>> | undefined,
  ...fields: readonly string[]
): readonly Readonly<Record<string, unknown>>[] {
  const spec = record(body?.["spec"]);
  if (spec === undefined) return [{}];
  const stated = fields.filter((field) => Object.hasOwn(spec, field)).map((field) => [field, spec[field]] as const);
  return stated.length === 0 ? [{}] : [Object.fromEntries(stated), {}];
}
