import { analyzersNamed } from "../analyzers.js";
import type { Message } from "./message.js";
import { isSuppressed, type Suppression } from "./suppression.js";

/** A selection of messages. */
export interface Selection {
  readonly suppressions?: readonly Suppression[];
  /** Only messages about objects of this namespace, about the Namespace itself, and about cluster-scoped objects. */
  readonly namespace?: string;
  /** Only messages with codes that these analyzers report. */
  readonly analyzers?: readonly string[];
}

/**
 * Returns the selected messages.
 *
 * @throws Error that names an analyzer that does not exist.
 */
export function selectMessages(messages: readonly Message[], selection: Selection): readonly Message[] {
  const { suppressions = [], namespace, analyzers: names = [] } = selection;
  const codes = new Set<string>(analyzersNamed(names).flatMap((analyzer) => analyzer.codes));
  return messages.filter(
    (message) =>
      !isSuppressed(message, suppressions) &&
      (namespace === undefined || isOfNamespace(message, namespace)) &&
      (names.length === 0 || codes.has(message.code)),
  );
}

function isOfNamespace({ origin = "" }: Message, namespace: string): boolean {
  const [kind, name = ""] = origin.split(" ");
  return kind === "Namespace" ? name === namespace : !name.includes("/") || name.startsWith(`${namespace}/`);
}
