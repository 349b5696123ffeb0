import {
  GoInteger,
  GoList,
  GoMap,
  GoPointer,
  GoStruct,
  anyMapType,
  anySliceType,
  type Functions,
  goFunction,
  goMap,
  stringMapType,
  stringSliceType,
  stringType,
  type Value,
  variadicFunction,
} from "@istiod/go-template";

/** Data of both programs: JSON, and objects with one key that names a Go type. */
export type Typed =
  | null
  | boolean
  | string
  | number
  | readonly Typed[]
  | { readonly int: string }
  | { readonly int64: string }
  | { readonly uint8: string }
  | { readonly map: readonly (readonly [string, Typed])[] }
  | { readonly strings: readonly string[] }
  | { readonly labels: Readonly<Record<string, string>> }
  | { readonly "nil map": null }
  | { readonly pod: Pod }
  | { readonly "pod pointer": Pod }
  | { readonly "nil pod": null };

interface Pod {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly port: number;
  readonly extra: Typed;
}

/** Returns data as a value of templates. */
export function decodeTyped(data: Typed): Value {
  if (data === null || typeof data !== "object") return data;
  if (isList(data)) return new GoList(anySliceType, data.map(decodeTyped));
  if ("int" in data) return BigInt(data.int);
  if ("int64" in data) return new GoInteger("int64", BigInt(data.int64));
  if ("uint8" in data) return new GoInteger("uint8", BigInt(data.uint8));
  if ("map" in data)
    return new GoMap(
      anyMapType,
      data.map.map(([key, value]) => [key, decodeTyped(value)]),
    );
  if ("strings" in data) return new GoList(stringSliceType, data.strings);
  if ("labels" in data) return goMap(stringType, data.labels);
  if ("nil map" in data) return new GoMap(stringMapType, null);
  if ("pod" in data) return podStruct(data.pod, {});
  if ("pod pointer" in data) return new GoPointer(podStruct(data["pod pointer"], methodsOf(data["pod pointer"])));
  return new GoPointer("main.Pod");
}

const isList = (data: Typed): data is readonly Typed[] => Array.isArray(data);

function podStruct({ name, labels, port, extra }: Pod, methods: Functions): GoStruct {
  const fields = {
    Name: name,
    Labels: goMap(stringType, labels),
    Port: BigInt(port),
    Extra: decodeTyped(extra),
  };
  return new GoStruct("main.Pod", fields, { methods });
}

/** The methods of a pointer: a struct that is read from an interface has none, as in Go. */
const methodsOf = ({ name }: Pod): Functions => ({
  Join: variadicFunction([stringType], stringType, stringType, (separator, words) =>
    [name, words.join(separator)].join(separator),
  ),
  Fail: goFunction([], stringType, () => {
    throw new Error("pod failed");
  }),
});
