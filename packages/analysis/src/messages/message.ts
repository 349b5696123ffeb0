import { formatSubject, type Problem } from "@istiod/config-schema";
import { type Code, type Level, levels, messageTypes } from "../codes.js";
import { type Finding, formatOrigin, levelOf } from "../finding.js";
import { codeOfProblem, formatProblemMessage } from "./problems.js";

/** The location of an object or a field in a file. */
export interface Reference {
  readonly file: string;
  /** Line from 1; 0 for the file as a whole. */
  readonly line: number;
}

/** A message in the form of `istioctl analyze -o json`. */
export interface Message {
  readonly code: Code;
  readonly level: Level;
  /** `Kind namespace/name`; absent if the message is not about an object. */
  readonly origin?: string;
  /** `file:line`; absent if the location is unknown. */
  readonly reference?: string;
  readonly message: string;
  /** Documentation page of the code; absent for codes that Istio does not have. */
  readonly documentationUrl?: string;
}

const documentation = "https://istio.io/latest/docs/reference/config/analysis";

/** Returns the message of a finding. */
export function messageOfFinding(finding: Finding, reference?: Reference): Message {
  const { code, origin, message } = finding;
  return { ...messageOf(code, formatOrigin(origin), reference, message), level: levelOf(finding) };
}

/** Returns the message of a document's problem: a validation error or warning, or a file that cannot be read. */
export function messageOfProblem(problem: Problem): Message {
  const { subject, file, line } = problem;
  return messageOf(
    codeOfProblem(problem),
    subject && formatSubject(subject),
    { file, line },
    formatProblemMessage(problem),
  );
}

/** The part of a message that its code determines. */
export type MessageOfCode = Pick<Message, "code" | "level" | "documentationUrl"> & { readonly name: string };

/** Returns the name, level and documentation page of a code, as in `status.validationMessages` of Istio's objects. */
export function messageOfCode(code: Code): MessageOfCode {
  const { name, level } = messageTypes[code];
  return {
    code,
    name,
    level,
    ...(code.startsWith("IST") && { documentationUrl: `${documentation}/${code.toLowerCase()}/` }),
  };
}

function messageOf(code: Code, origin: string | undefined, reference: Reference | undefined, message: string): Message {
  const { level, documentationUrl } = messageOfCode(code);
  return {
    code,
    level,
    ...(origin !== undefined && { origin }),
    ...(reference !== undefined && {
      reference: reference.line === 0 ? reference.file : `${reference.file}:${reference.line}`,
    }),
    message,
    ...(documentationUrl !== undefined && { documentationUrl }),
  };
}

/** Reports whether a level is at least as severe as a threshold. */
export function isAtLeast(level: Level, threshold: Level): boolean {
  return levels.indexOf(level) <= levels.indexOf(threshold);
}

/** Sorts messages by severity, code, origin, location and text, and removes duplicates. */
export function sortMessages(messages: readonly Message[]): readonly Message[] {
  const distinct = new Map(messages.map((message) => [JSON.stringify(sortKey(message)), message]));
  return [...distinct.values()].sort((a, b) => {
    const [left, right] = [sortKey(a), sortKey(b)];
    const at = left.findIndex((part, i) => part !== right[i]);
    return at < 0 ? 0 : (left[at] ?? "") < (right[at] ?? "") ? -1 : 1;
  });
}

/** Returns the parts of a message by which messages are sorted. Lines are compared as numbers. */
function sortKey({ level, code, origin = "", reference = "", message }: Message): readonly (string | number)[] {
  const [, file = reference, line = 0] = /^(.*):(\d+)$/.exec(reference) ?? [];
  return [levels.indexOf(level), code, origin, file, Number(line), message];
}
