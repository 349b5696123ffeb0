import { analyzers } from "./analyzers.js";
import type { Message } from "./report.js";
import { isSuppressed, type Suppression } from "./suppression.js";

/** The messages that are wanted. */
export interface Selection {
  readonly suppressions?: readonly Suppression[];
  /** Only messages about objects of this namespace, about the Namespace itself, and about cluster-scoped objects. */
  readonly namespace?: string;
  /** Only messages with codes that these analyzers report. */
  readonly analyzers?: readonly string[];
}

/**
 * Returns the messages that a selection leaves.
 *
 * @throws Error that names an analyzer that does not exist.
 */
export function selectMessages(messages: readonly Message[], selection: Selection): readonly Message[] {
  const { suppressions = [], namespace, analyzers: names = [] } = selection;
  const codes = codesOf(names);
  return messages.filter(
    (message) =>
      !isSuppressed(message, suppressions) &&
      (namespace === undefined || isOfNamespace(message, namespace)) &&
      (names.length === 0 || codes.has(message.code)),
  );
}

function codesOf(names: readonly string[]): ReadonlySet<string> {
  const chosen = names.map((name) => {
    const found = analyzers.find((analyzer) => analyzer.name === name);
    if (found === undefined) throw new Error(`analyzer ${name} does not exist`);
    return found;
  });
  return new Set(chosen.flatMap(({ codes }) => codes));
}

function isOfNamespace({ origin = "" }: Message, namespace: string): boolean {
  const [kind, name = ""] = origin.split(" ");
  return kind === "Namespace" ? name === namespace : !name.includes("/") || name.startsWith(`${namespace}/`);
}
