/** Levels of Istio's logs, in the order of increasing verbosity. */
export const levels = ["none", "fatal", "error", "warn", "info", "debug"] as const;
export type Level = (typeof levels)[number];

/**
 * Settings of a scope: it logs lines of its level and of less verbose ones, with a stack trace from `stackTrace` on,
 * and with the caller.
 */
export interface ScopeSettings {
  readonly output: Level;
  readonly stackTrace: Level;
  readonly callers: boolean;
}

/** Levels of all scopes from the flags: of the scopes that they name, and of all others. */
export interface LevelRules {
  readonly named: ReadonlyMap<string, Level>;
  /** `all:<level>`: wins over what was said before it. */
  readonly others: Level | undefined;
}

/**
 * Reads `<level>` or `<scope>:<level>,<scope>:<level>,…`, where the scope `all` stands for every scope. As in Istio the
 * later one of two wins. A level without a scope, which in Istio is that of the scope `default` alone, holds here for
 * every scope that is not named.
 *
 * @throws Error that names the flag where the value is not of this form.
 */
export function levelRules(flag: string, value: string): LevelRules {
  const named = new Map<string, Level>();
  let others: Level | undefined;
  for (const part of value.split(",").map((each) => each.trim())) {
    if (part === "") continue;
    const pieces = part.split(":");
    const level = levels.find((known) => known === pieces.at(-1));
    if (pieces.length > 2 || level === undefined)
      throw new Error(
        `--${flag} ${value}: expected <level> or <scope>:<level>,…, where a level is one of ${levels.join(", ")}`,
      );
    const [scope = ""] = pieces;
    if (pieces.length === 2 && scope !== "all") named.set(scope, level);
    else {
      others = level;
      if (scope === "all") named.clear();
    }
  }
  return { named, others };
}

/** The level that rules give a scope. */
export function levelOf({ named, others }: LevelRules, scope: string, byDefault: Level): Level {
  return named.get(scope) ?? others ?? byDefault;
}

/** Reports whether lines of a level are logged at another level. */
export function reaches(level: Level, upTo: Level): boolean {
  return level !== "none" && levels.indexOf(level) <= levels.indexOf(upTo);
}
