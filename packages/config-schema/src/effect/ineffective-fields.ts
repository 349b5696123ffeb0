import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import type { FieldPath, Report } from "../decoding/report.js";
import { fieldsWithoutEffect, valuesWithoutEffect } from "./fields-without-effect.js";

/** A field that is set and has no effect. */
export interface IneffectiveField {
  readonly path: FieldPath;
  /** The name of the field, and why it has no effect. */
  readonly message: string;
}

/** A field that has no effect, or contains one. */
interface Step {
  readonly field: DescField;
  readonly reason: string | undefined;
  /** The reasons why some values have no effect. */
  readonly ofValues: Readonly<Record<string, string>> | undefined;
  readonly below: readonly Step[];
}

/**
 * Returns the fields without effect that are set in a message or in its nested messages. Only the fields that lead to
 * one are visited. The path contains the name of a oneof's field, not of the oneof.
 *
 * @param at the path of the message
 */
export function ineffectiveFields(schema: DescMessage, message: Message, at: FieldPath): readonly IneffectiveField[] {
  return visit(stepsOf(schema), message, at);
}

/** Reports the fields without effect that a document sets, as warnings. */
export function reportIneffectiveFields(schema: DescMessage, message: Message, report: Report): void {
  for (const { path, message: text } of ineffectiveFields(schema, message, []))
    report.warning(path, withoutName(text), "unsupported-field");
}

/** Returns the message about a field without its name, for reports that begin with the path. */
export function withoutName(message: string): string {
  return message.slice(message.indexOf(" ") + 1);
}

function visit(steps: readonly Step[], message: Message, at: FieldPath): readonly IneffectiveField[] {
  return steps.flatMap(({ field, reason, ofValues, below }) => {
    const value = valueOf(field, message);
    if (isEmpty(value)) return [];
    const path = [...at, field.localName];
    if (reason !== undefined) return [{ path, message: `${field.localName} has no effect: ${reason}` }];
    if (ofValues !== undefined) {
      const why = typeof value === "string" && Object.hasOwn(ofValues, value) ? ofValues[value] : undefined;
      return why === undefined ? [] : [{ path, message: `${field.localName} ${String(value)} has no effect: ${why}` }];
    }
    if (field.fieldKind === "list") return (value as Message[]).flatMap((item, i) => visit(below, item, [...path, i]));
    if (field.fieldKind === "map")
      return Object.entries(value as Record<string, Message>).flatMap(([key, item]) =>
        visit(below, item, [...path, key]),
      );
    return visit(below, value as Message, path);
  });
}

function valueOf({ localName, oneof }: DescField, message: Message): unknown {
  const fields = message as unknown as Readonly<Record<string, unknown>>;
  if (oneof === undefined) return fields[localName];
  const chosen = fields[oneof.localName] as { readonly case?: string; readonly value?: unknown } | undefined;
  // An empty message that is chosen is set, too.
  return chosen?.case === localName ? (isEmpty(chosen.value) ? true : chosen.value) : undefined;
}

/** Reports whether a value is the default of its field. Enums and numbers that are not declared as optional are 0. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0 || value === 0n || value === false) return true;
  return Array.isArray(value) ? value.length === 0 : typeof value === "object" && Object.keys(value ?? {}).length === 0;
}

const compiled = new Map<string, readonly Step[]>();

/** Returns the steps of a message type, and keeps them. */
function stepsOf(schema: DescMessage): readonly Step[] {
  let steps = compiled.get(schema.typeName);
  if (steps === undefined) compiled.set(schema.typeName, (steps = compile(schema, new Set())));
  return steps;
}

/** @param above the types that contain this one, which are not visited again */
function compile(schema: DescMessage, above: ReadonlySet<string>): readonly Step[] {
  if (above.has(schema.typeName) || schema.typeName.startsWith("google.protobuf.")) return [];
  const types = new Set([...above, schema.typeName]);
  return schema.fields.flatMap((field) => {
    const reason = fieldsWithoutEffect[`${schema.typeName}.${field.localName}`];
    const ofValues = valuesWithoutEffect[`${schema.typeName}.${field.localName}`];
    const below = reason === undefined && field.message !== undefined ? compile(field.message, types) : [];
    const isStep = reason !== undefined || ofValues !== undefined || below.length > 0;
    return isStep ? [{ field, reason, ofValues, below }] : [];
  });
}
