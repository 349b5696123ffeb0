import { formatSubject, type Problem } from "@istiod/config-ingestion";
import { type Code, type Level, levels, messageTypes } from "./codes.js";
import { type Finding, formatOrigin } from "./finding.js";
import { codeOfProblem, formatProblemMessage } from "./problems.js";

/** The place of an object or of a field in a file. */
export interface Reference {
  readonly file: string;
  /** From 1; 0 where the file as a whole is meant. */
  readonly line: number;
}

/** A finding as it is shown: what `istioctl analyze -o json` prints of a message. */
export interface Message {
  readonly code: Code;
  readonly level: Level;
  /** `Kind namespace/name`; absent for what belongs to no object. */
  readonly origin?: string;
  /** `file:line`; absent where the place is not known. */
  readonly reference?: string;
  readonly message: string;
  /** Page about the code; absent for codes that Istio does not have. */
  readonly documentationUrl?: string;
}

const documentation = "https://istio.io/latest/docs/reference/config/analysis";

/** Returns the message of a finding. */
export function messageOfFinding({ code, origin, message }: Finding, reference?: Reference): Message {
  return messageOf(code, formatOrigin(origin), reference, message);
}

/** Returns the message of a document's problem: a validation error or warning, or a file that cannot be read. */
export function messageOfProblem(problem: Problem): Message {
  const { subject, file, line } = problem;
  return messageOf(codeOfProblem(problem), subject && formatSubject(subject), { file, line }, formatProblemMessage(problem));
}

function messageOf(code: Code, origin: string | undefined, reference: Reference | undefined, message: string): Message {
  return {
    code,
    level: messageTypes[code].level,
    ...(origin !== undefined && { origin }),
    ...(reference !== undefined && { reference: reference.line === 0 ? reference.file : `${reference.file}:${reference.line}` }),
    message,
    ...(code.startsWith("IST") && { documentationUrl: `${documentation}/${code.toLowerCase()}/` }),
  };
}

/** Reports whether a level is at least as severe as a threshold. */
export function isAtLeast(level: Level, threshold: Level): boolean {
  return levels.indexOf(level) <= levels.indexOf(threshold);
}

/** Sorts messages by severity, code, origin, place and text, and drops those that are there twice. */
export function sortMessages(messages: readonly Message[]): readonly Message[] {
  const identity = (m: Message): string => JSON.stringify([levels.indexOf(m.level), m.code, m.origin ?? "", m.reference ?? "", m.message]);
  const sorted = new Map(messages.map((m) => [identity(m), m]));
  return [...sorted].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, m]) => m);
}
