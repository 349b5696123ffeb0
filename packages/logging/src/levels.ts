/** Log levels of Istio, in order of increasing verbosity. */
export const levels = ["none", "fatal", "error", "warn", "info", "debug"] as const;
export type Level = (typeof levels)[number];

/**
 * Settings of a scope: its output level, the level up to which lines have a stack trace, and whether lines name the
 * caller.
 */
export interface ScopeSettings {
  readonly output: Level;
  readonly stackTrace: Level;
  readonly callers: boolean;
}

/** Levels from the flags: those of named scopes, and the level of all other scopes. */
export interface LevelRules {
  readonly named: ReadonlyMap<string, Level>;
  /** `all:<level>`: overrides the rules before it. */
  readonly others: Level | undefined;
}

/**
 * Parses `<level>` or `<scope>:<level>,<scope>:<level>,…`. The scope `all` stands for every scope, and later rules
 * override earlier ones, as in Istio. A level without a scope applies to all scopes that are not named; in Istio, it
 * applies to the scope `default` only.
 *
 * @throws Error that names the flag if the value is malformed.
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

/** Returns the level of a scope. */
export function levelOf({ named, others }: LevelRules, scope: string, byDefault: Level): Level {
  return named.get(scope) ?? others ?? byDefault;
}

/** Reports whether lines of a level are logged when the output level is `upTo`. */
export function reaches(level: Level, upTo: Level): boolean {
  return level !== "none" && levels.indexOf(level) <= levels.indexOf(upTo);
}
