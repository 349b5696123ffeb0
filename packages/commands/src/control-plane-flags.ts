import { formatSilent, type Gathered, type SilentReplica } from "@istiod/replicas";
import { Option } from "commander";
import { defaultIstiod } from "./proxy-dump.js";

/** Returns the repeatable flag of the replicas to ask. */
export function istiodOption(help: string): Option {
  return new Option("--istiod <url>", `${help}; repeatable, to name each replica`)
    .default([], "")
    .argParser((value: string, before: readonly string[]) => [...before, value]);
}

/** Help of the flag in commands that ask a running istiod by default. */
export const istiodHelp = `HTTP URL of a running istiod, which asks all replicas (default: ${defaultIstiod})`;

/** Returns the URLs to ask, those of this machine's istiod by default. */
export function istiodUrls(given: readonly string[]): readonly string[] {
  return given.length === 0 ? [defaultIstiod] : given;
}

/** Returns the replicas without an answer, those with an error among them. */
export function unanswered({ failures, silent }: Gathered<unknown>): readonly SilentReplica[] {
  return [...silent, ...failures.map(({ instance, error }) => ({ name: instance.name, reason: error.trim() }))];
}

/** Returns an error if no replica answers: its message, or those of all. */
export function noAnswer({ failures, silent }: Pick<Gathered<unknown>, "failures" | "silent">): Error {
  return new Error(failures[0]?.error.trim() ?? formatSilent(silent).trimEnd());
}
