import {
  agentVariablePrefixes,
  agentVariables,
  didYouMean,
  discoveryVariables,
  environmentReport,
  environmentWarnings,
  type Environment,
  nearestNames,
} from "@istiod/settings";
import { captureTable } from "./capture-table.js";
import type { Option } from "./option.js";
import { allOptions } from "./table.js";

/** A flag of Istio's agent that is accepted and has no effect. */
export interface IneffectiveFlag {
  readonly flag: string;
  readonly kind: "text" | "switch";
  /** Why it has no effect. */
  readonly why: string;
}

const oneLog = "the agent writes one log, to standard error";
const noLog = "the command writes no log";

/** Flags of `pilot-agent proxy` that have no effect. */
export const ineffectiveProxyFlags: readonly IneffectiveFlag[] = [
  { flag: "stsPort", kind: "text", why: "tokens are not exchanged yet" },
  { flag: "tokenManagerPlugin", kind: "text", why: "tokens are not exchanged yet" },
  {
    flag: "templateFile",
    kind: "text",
    why: "Envoy's bootstrap is not made from a template; use ISTIO_BOOTSTRAP_OVERRIDE",
  },
  { flag: "profiling", kind: "switch", why: "the agent has no profiles" },
  { flag: "log_target", kind: "text", why: oneLog },
  { flag: "log_stacktrace_level", kind: "text", why: oneLog },
  { flag: "log_caller", kind: "text", why: oneLog },
];

/** Flags of `pilot-agent istio-iptables` that have no effect. */
export const ineffectiveCaptureFlags: readonly IneffectiveFlag[] = [
  { flag: "cni-mode", kind: "switch", why: "nothing depends on it" },
  ...["log_output_level", "log_target", "log_stacktrace_level", "log_caller"].map(
    (flag) => ({ flag, kind: "text", why: noLog }) as const,
  ),
  { flag: "log_as_json", kind: "switch", why: noLog },
];

export interface GivenFlags {
  /** The flags that were given, by name. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Arguments that the command line parser does not know. */
  readonly unknown: readonly string[];
}

/**
 * Returns a sentence for each flag that is given and has no effect. Unknown flags are accepted, as Istio's agent does.
 */
export function flagWarnings(
  { flags, unknown }: GivenFlags,
  ineffective: readonly IneffectiveFlag[],
  known: Iterable<Option<unknown>>,
): readonly string[] {
  const names = [...known].flatMap(({ flag }) => flag ?? []);
  const nearest = (argument: string): string =>
    didYouMean(nearestNames(argument.replace(/^-+/, "").replace(/=.*$/s, ""), names, 1).map((name) => `--${name}`));
  return [
    ...ineffective.flatMap(({ flag, why }) =>
      flags[flag] === undefined ? [] : [`--${flag} ${flags[flag]} has no effect: ${why}`],
    ),
    ...unknown
      .filter((argument) => argument.startsWith("-"))
      .map((argument) => `${argument} has no effect: the flag is not known${nearest(argument)}`),
  ];
}

const ownVariables = Object.values<Option<unknown>>(allOptions).flatMap(({ env }) => env ?? []);
const captureVariables = Object.values<Option<unknown>>(captureTable).flatMap(({ env }) => env ?? []);

/** Returns what of the environment has no effect on `pilot-agent proxy`, a sentence each. */
export function environmentWarningsOfProxy(env: Environment): readonly string[] {
  return environmentWarnings(
    environmentReport({
      env,
      read: ownVariables,
      istio: agentVariables,
      elsewhere: [...discoveryVariables, ...captureVariables],
      readPrefixes: agentVariablePrefixes,
    }),
  );
}
