import { type GoType, type IntegerKind, wrapInteger } from "./types.js";

/**
 * A value in Go's world. JavaScript's own values stand for the types that templates use most: `null` is nil of type
 * `interface {}`, a `bigint` is an `int`, a `number` is a `float64`.
 */
export type Value =
  | null
  | boolean
  | string
  | number
  | bigint
  | GoInteger
  | GoList
  | GoMap
  | GoStruct
  | GoPointer
  | GoFunction;

/** An integer of another type than `int`. */
export class GoInteger {
  readonly value: bigint;

  /** Keeps the low bits that the kind has, as Go does on overflow. */
  constructor(
    readonly kind: Exclude<IntegerKind, "int">,
    value: bigint,
  ) {
    this.value = wrapInteger(kind, value);
  }
}

/** A slice. */
export class GoList {
  /** @param items null for a nil slice */
  constructor(
    readonly type: GoType,
    items: readonly Value[] | null,
  ) {
    this.isNil = items === null;
    this.items = items ?? [];
  }

  readonly isNil: boolean;
  readonly items: readonly Value[];
}

/** Key of a map. */
export type MapKey = string | bigint;

/** A map. Keys are never properties of an object, so `__proto__` and `constructor` are keys as others. */
export class GoMap {
  readonly entries: Map<MapKey, Value>;
  readonly isNil: boolean;

  /** @param entries null for a nil map */
  constructor(
    readonly type: GoType,
    entries: Map<MapKey, Value> | Iterable<readonly [MapKey, Value]> | null,
  ) {
    this.isNil = entries === null;
    this.entries = entries instanceof Map ? entries : new Map(entries ?? []);
  }
}

/** A struct: templates may read its fields and call its methods, and reading any other field is an error. */
export class GoStruct {
  readonly type: GoType;
  #fields: ReadonlyMap<string, Value> | (() => ReadonlyMap<string, Value>);
  readonly methods: ReadonlyMap<string, GoFunction>;
  readonly text: (() => string) | undefined;
  readonly json: (() => Value | ReadonlyMap<string, Value>) | undefined;

  /**
   * @param typeName name in messages, such as `inject.TemplateData`
   * @param fields own properties, or entries in order, or a function that is called when they are first read
   */
  constructor(
    typeName: string,
    fields: Readonly<Record<string, Value>> | ReadonlyMap<string, Value> | (() => ReadonlyMap<string, Value>),
    { methods = noMethods, text, json }: StructOptions = {},
  ) {
    this.type = { name: typeName, kind: "struct" };
    this.#fields = fields instanceof Map || isFunction(fields) ? fields : new Map(Object.entries(fields));
    this.methods = methods instanceof Map ? methods : new Map(Object.entries(methods));
    this.text = text;
    this.json = json;
  }

  get fields(): ReadonlyMap<string, Value> {
    const fields = this.#fields;
    return isFunction(fields) ? (this.#fields = fields()) : fields;
  }
}

const noMethods: ReadonlyMap<string, GoFunction> = new Map<string, never>();

function isFunction<T>(value: T | (() => ReadonlyMap<string, Value>)): value is () => ReadonlyMap<string, Value> {
  return typeof value === "function";
}

/** Options of a struct. */
export interface StructOptions {
  /** Methods by name, without the receiver among their parameters. */
  readonly methods?: Readonly<Record<string, GoFunction>> | ReadonlyMap<string, GoFunction>;
  /** Returns the text when the struct is printed (`String()`). Default: its fields. */
  readonly text?: () => string;
  /** Returns what JSON has for the struct: its members in order, or another value. Default: its fields. */
  readonly json?: () => Value | ReadonlyMap<string, Value>;
}

/** A pointer to a struct, possibly nil. */
export class GoPointer {
  readonly type: GoType;

  /**
   * @param target the struct, or the name of its type for a nil pointer
   * @param methods methods that a nil pointer has; those of any other are its struct's. Default: none
   */
  constructor(target: GoStruct | string, methods: ReadonlyMap<string, GoFunction> = new Map<string, GoFunction>()) {
    this.target = typeof target === "string" ? null : target;
    this.methods = this.target?.methods ?? methods;
    this.type = { name: `*${typeof target === "string" ? target : target.type.name}`, kind: "ptr" };
  }

  readonly target: GoStruct | null;
  readonly methods: ReadonlyMap<string, GoFunction>;
}

/** A function that templates can call. Arguments are checked against the types of its parameters, as in Go. */
export class GoFunction {
  readonly type: GoType;

  constructor(
    readonly parameters: readonly GoType[],
    /** Type of further arguments; undefined if there are none. */
    readonly rest: GoType | undefined,
    readonly result: GoType,
    /** Computes the result from checked arguments. An error it throws stops the execution. */
    readonly call: (args: readonly Value[]) => Value,
  ) {
    const names = parameters.map(({ name }) => name);
    if (rest !== undefined) names.push(`...${rest.name}`);
    this.type = { name: `func(${names.join(", ")}) ${result.name}`, kind: "func" };
  }
}
