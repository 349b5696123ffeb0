import { record } from "../../decoding/json.js";

/** Returns the reason why Envoy would reject an operator. */
type OperatorCheck = (name: string, argument: string, hasLength: boolean) => string | undefined;

/**
 * Returns the reason why Envoy would reject the argument of COALESCE: JSON with `operators`, each a name or an object
 * with `command`, `param` and `max_length`. Other JSON is a fault, too.
 */
export function coalesceFault(argument: string, check: OperatorCheck): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(argument);
  } catch {
    return "but the argument of COALESCE is not JSON";
  }
  const list = record(json)?.["operators"];
  if (!Array.isArray(list) || list.length === 0) return 'expected {"operators": […]} with at least one operator';
  // Envoy distinguishes 3.0 and 3e0 from whole numbers, which the parsed value does not.
  if (/"max_length"\s*:\s*[-0-9]*[.eE]/.test(argument)) return wrongLength;
  for (const [at, entry] of list.entries()) {
    const fault = entryFault(entry, check);
    if (fault !== undefined) return `operators[${at}]: ${fault}`;
  }
  return undefined;
}

const wrongLength = "expected max_length to be a whole number of at least 1";

function entryFault(entry: unknown, check: OperatorCheck): string | undefined {
  if (typeof entry === "string") return check(entry, "", false);
  const { command, param = "", max_length: length } = record(entry) ?? {};
  if (typeof command !== "string") return "expected the name of an operator, or an object with command";
  if (typeof param !== "string") return "expected param to be a string";
  if (length !== undefined && !isLength(length)) return wrongLength;
  return check(command, param, length !== undefined);
}

function isLength(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value < 2 ** 63;
}
