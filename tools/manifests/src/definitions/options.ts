import type { DescExtension, DescField, DescMessage, FileRegistry } from "@bufbuild/protobuf";
import { getOption, hasOption, isMessage } from "@bufbuild/protobuf";

/** See `proto/crd/schema.proto` for these types. */
export interface Resource {
  readonly group: string;
  readonly versions: readonly string[];
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly specRequired: boolean;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly path: string }[];
}

export interface Rule {
  readonly rule: string;
  readonly message: string;
}

export interface MessageConstraints {
  readonly rules: readonly Rule[];
  readonly atMostOne: readonly { readonly fields: readonly string[] }[];
}

export interface FieldConstraints {
  readonly required: boolean;
  readonly minLength?: bigint;
  readonly maxLength?: bigint;
  readonly minItems?: bigint;
  readonly maxItems?: bigint;
  readonly minProperties?: bigint;
  readonly maxProperties?: bigint;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern: string;
  readonly rules: readonly Rule[];
  readonly items?: FieldConstraints;
  readonly values?: FieldConstraints;
  readonly anyDuration: boolean;
  readonly intOrString: boolean;
  readonly alternativeName: string;
  readonly ignoredRules: readonly string[];
  readonly listType: string;
  readonly listMapKey: string;
}

/** Reads the options of `proto/crd/schema.proto`. Each function returns `undefined` for elements without the option. */
export interface Options {
  resource(message: DescMessage): Resource | undefined;
  message(message: DescMessage): MessageConstraints | undefined;
  field(field: DescField): FieldConstraints | undefined;
}

/** @throws Error if the registry lacks an option */
export function optionsIn(registry: FileRegistry): Options {
  const [resource, message, field] = ["resource", "message", "field"].map((name) => {
    const extension = registry.getExtension(`istiod.crd.${name}`);
    if (!extension) throw new Error(`proto/crd/schema.proto: the option ${name} is missing`);
    return extension;
  }) as [DescExtension, DescExtension, DescExtension];
  return {
    resource: (element) => read(element, resource) as Resource | undefined,
    message: (element) => read(element, message) as MessageConstraints | undefined,
    field: (element) => read(element, field) as FieldConstraints | undefined,
  };
}

function read(element: DescMessage | DescField, extension: DescExtension): unknown {
  if (!hasOption(element, extension)) return undefined;
  const value: unknown = getOption(element, extension);
  return isMessage(value) ? value : undefined;
}
