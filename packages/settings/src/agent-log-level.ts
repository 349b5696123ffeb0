/** Levels of Istio's agent, and `silent`, which this one has in addition. */
const levels = ["debug", "info", "warn", "error", "fatal", "none", "silent"] as const;

/** Annotation of a pod that sets the log level of its agent. */
export const agentLogLevelAnnotation = "sidecar.istio.io/agentLogLevel";

/**
 * Returns the reason why an agent would exit with log levels such as `info` or `default:info,ads:debug`; undefined
 * otherwise. Scopes are not checked, because the agent ignores unknown ones. Source: pkg/log/options.go.
 */
export function agentLogLevelFault(text: string): string | undefined {
  for (const part of text.split(",")) {
    const level = /^(?:[^:]*:)?([^:]*)$/.exec(part)?.[1];
    if (!levels.some((known) => known === level))
      return `has ${JSON.stringify(part)}, expected a level: ${levels.slice(0, -1).join(", ")}`;
  }
  return undefined;
}
