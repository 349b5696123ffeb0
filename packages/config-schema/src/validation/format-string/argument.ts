import { celFault } from "../cel/cel.js";
import type { ArgumentRule } from "./operators.js";

type Check = (argument: string) => string | undefined;

/** A conversion that prints a newline, as Envoy recognizes it in a time format. */
const newlineConversion = /%[-_0^#]*[1-9]*[EO]?n/;

/** The name of a header or pseudo-header. */
const headerName = /^:?[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const oneOf =
  (what: string, values: readonly string[]): Check =>
  (argument) =>
    values.includes(argument) ? undefined : `but ${what} is ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;

const metadataKind = oneOf("the kind of metadata", [
  "DYNAMIC",
  "CLUSTER",
  "ROUTE",
  "UPSTREAM_HOST",
  "LISTENER",
  "LISTENER_FILTER_CHAIN",
  "VIRTUAL_HOST",
]);
const serialization = oneOf("the serialization", ["PLAIN", "TYPED", "FIELD"]);
const precision = oneOf("the precision", ["ms", "us", "ns"]);
const certificateField = oneOf("the field", ["by", "hash", "cert", "chain", "subject", "uri", "dns"]);

const checks: Readonly<Record<Exclude<ArgumentRule, "coalesce">, Check>> = {
  none: () => undefined,
  ignored: () => undefined,
  any: () => undefined,
  time: (format) => (newlineConversion.test(format) ? "but a time format may not print a newline" : undefined),
  header: headerFault,
  "filter-state": filterStateFault,
  duration: durationFault,
  "grpc-status": (format) =>
    format === "" ? undefined : oneOf("the format", ["CAMEL_STRING", "SNAKE_STRING", "NUMBER"])(format),
  metadata: (argument) => metadataKind(split(argument)[0] ?? ""),
  path: options(oneOf("the first option", ["WQ", "NQ"]), oneOf("the second option", ["ORIG", "PATH", "ORIG_OR_PATH"])),
  "server-name": options(
    oneOf("the first option", ["SNI_ONLY", "SNI_FIRST", "HOST_FIRST"]),
    oneOf("the second option", ["ORIG_OR_HOST", "HOST", "ORIG"]),
  ),
  query: (option) => (option === "" ? undefined : oneOf("the option", ["ORIG", "DECODED"])(option)),
  "client-certificate": (field) => certificateField(field.toLowerCase()),
  expression: (expression) => {
    const fault = celFault(expression);
    return fault === undefined ? undefined : `but the expression ${fault}`;
  },
};

/** Returns the reason why Envoy would reject an operator's argument; undefined if it accepts it. */
export function argumentFault(rule: Exclude<ArgumentRule, "coalesce">, argument: string): string | undefined {
  return checks[rule](argument);
}

/** A check of `first:second`, of which each may be empty. */
function options(first: Check, second: Check): Check {
  return (argument) => {
    const [one = "", two = ""] = split(argument);
    return (one === "" ? undefined : first(one)) ?? (two === "" ? undefined : second(two));
  };
}

function headerFault(argument: string): string | undefined {
  const names = argument.split("?");
  if (names.length > 2) return "expected a header and at most one alternative, %REQ(NAME?ALTERNATIVE)%";
  const wrong = names.find((name) => name !== "" && !headerName.test(name));
  return wrong === undefined ? undefined : `but ${JSON.stringify(wrong)} is not the name of a header`;
}

/** Checks `key`, `key:PLAIN`, `key:TYPED` or `key:FIELD:name`. */
function filterStateFault(argument: string): string | undefined {
  const [key = "", format = "", field = ""] = split(argument);
  if (key === "") return "expected a key first";
  const fault = format === "" ? undefined : serialization(format);
  if (fault !== undefined) return fault;
  return (format === "FIELD") === (field !== "")
    ? undefined
    : "expected the name of a field after FIELD, and only there";
}

/** Checks `start:end` or `start:end:precision`. */
function durationFault(argument: string): string | undefined {
  const parts = argument.split(":");
  if (parts.length < 2 || parts.length > 3) return "expected start:end or start:end:precision";
  return parts[2] === undefined ? undefined : precision(parts[2]);
}

function split(argument: string): readonly string[] {
  return argument.split(":");
}
