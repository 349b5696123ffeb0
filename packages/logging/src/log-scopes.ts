import type { LogFn, Logger, LoggerOptions } from "pino";
import { type Level, levelOf, type LevelRules, reaches, type ScopeSettings } from "./levels.js";

/** The scope of lines without one. As in Istio, such lines do not name it. */
const defaultScope = "default";

export interface Scope extends ScopeSettings {
  readonly name: string;
  readonly description: string;
}

export interface LogScopesOptions {
  readonly output: LevelRules;
  readonly stackTrace: LevelRules;
  /** Scopes whose lines include the caller; `all` for every scope. */
  readonly callers: readonly string[];
  /** Descriptions by scope, which are listed before a line of theirs is written. Default: none. */
  readonly descriptions?: Readonly<Record<string, string>>;
}

/**
 * The settings of each scope, which can be changed while the program runs. They apply to the loggers created from
 * `options`: a child with the binding `scope` belongs to that scope, any other to its parent's.
 */
export class LogScopes {
  readonly #rules: LogScopesOptions;
  readonly #scopes = new Map<string, Scope>();
  readonly #loggers = new Map<string, Logger[]>();
  readonly #scopeOf = new WeakMap<object, string>();

  constructor(rules: LogScopesOptions) {
    this.#rules = rules;
    this.#register(defaultScope, "Lines without a scope");
    for (const [name, description] of Object.entries(rules.descriptions ?? {})) this.#register(name, description);
  }

  /**
   * Options of a root logger whose lines, and whose children's, are written as their scopes say. Give the logger to
   * `adopt`.
   */
  get options(): Pick<LoggerOptions, "onChild" | "hooks"> {
    const added = (logger: object, level: Level): object | undefined => this.#added(logger, level);
    return {
      onChild: (child) => this.adopt(child),
      hooks: {
        logMethod(args, method, level) {
          const more = added(this, this.levels.labels[level] as Level);
          if (more === undefined) return void method.apply(this, args);
          const [first, ...rest] = args as unknown[];
          const merged =
            typeof first === "object" && first !== null ? [{ ...first, ...more }, ...rest] : [more, first, ...rest];
          method.apply(this, merged as Parameters<LogFn>);
        },
      },
    };
  }

  adopt(logger: Logger): void {
    const { scope } = logger.bindings() as { readonly scope?: unknown };
    const name = typeof scope === "string" ? scope : defaultScope;
    if (!this.#scopes.has(name)) this.#register(name, "");
    this.#scopeOf.set(logger, name);
    this.#loggers.set(name, [...(this.#loggers.get(name) ?? []), logger]);
    logger.level = pinoLevel(this.#scopes.get(name)?.output ?? "info");
  }

  /** All scopes, by name. */
  list(): readonly Scope[] {
    return [...this.#scopes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): Scope | undefined {
    return this.#scopes.get(name);
  }

  /** Changes what is logged of a scope that is there. */
  set(name: string, change: Partial<ScopeSettings>): void {
    const scope = this.#scopes.get(name);
    if (scope === undefined) return;
    this.#scopes.set(name, { ...scope, ...change });
    for (const logger of this.#loggers.get(name) ?? []) logger.level = pinoLevel(change.output ?? scope.output);
  }

  #register(name: string, description: string): void {
    const { output, stackTrace, callers } = this.#rules;
    this.#scopes.set(name, {
      name,
      description,
      output: levelOf(output, name, "info"),
      stackTrace: levelOf(stackTrace, name, "none"),
      callers: callers.includes(name) || callers.includes("all"),
    });
  }

  #added(logger: object, level: Level): { caller?: string; stack?: string } | undefined {
    const scope = this.#scopes.get(this.#scopeOf.get(logger) ?? defaultScope);
    if (scope === undefined) return undefined;
    const withStack = reaches(level, scope.stackTrace);
    if (!withStack && !scope.callers) return undefined;
    const frames = callerFrames();
    const [caller] = frames;
    return {
      ...(scope.callers && caller !== undefined && { caller: place(caller) }),
      ...(withStack && { stack: frames.join("\n") }),
    };
  }
}

function pinoLevel(level: Level): string {
  return level === "none" ? "silent" : level;
}

const depth = 30;
const ownFrames =
  /\/(log-scopes|pino\/lib\/\w+|pino\/pino)\.[jt]s|\bcallerFrames\b|\blogMethod\b|LogScopes\.#?added|\bLOG\b/;

/** The frames of the stack from who writes a line on. */
function callerFrames(): readonly string[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = depth;
  const frames = (new Error().stack ?? "")
    .split("\n")
    .slice(1)
    .map((line) => line.trim().replace(/^at /, ""));
  Error.stackTraceLimit = limit;
  const first = frames.findIndex((frame) => !ownFrames.test(frame));
  return frames.slice(Math.max(0, first));
}

/** The last folder and file of a frame with its line, as in `src/reporting.ts:62`. */
function place(frame: string): string {
  return /([^/\\(]+[/\\][^/\\]+:\d+):\d+\)?$/.exec(frame)?.[1] ?? frame;
}
