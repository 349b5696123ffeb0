import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";

/** Sets the fields of `target` that are present in `json`, from which `given` was decoded. */
export function override<D extends DescMessage>(
  schema: D,
  target: MessageShape<D>,
  given: MessageShape<D>,
  json: Readonly<Record<string, unknown>>,
): void {
  const to = reflect(schema, target, false);
  const from = reflect(schema, given, false);
  for (const field of schema.fields) {
    const value = json[field.jsonName] ?? json[field.name];
    if (value === undefined || value === null) continue;
    if (from.isSet(field)) to.set(field, from.get(field));
    else to.clear(field);
  }
}
