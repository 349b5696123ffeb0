/** A parser of untrusted bytes. */
export interface Target {
  /** Kebab-case. Also the name of its folder of kept inputs. */
  readonly name: string;
  readonly description: string;
  /** Valid inputs that random ones are derived from. */
  readonly seeds: readonly Uint8Array[];
  /** Byte strings that are inserted, such as keywords and delimiters. */
  readonly dictionary?: readonly Uint8Array[];
  /** Longest input in bytes. Default 4,096. */
  readonly maxLength?: number;
  /**
   * Parses an input. Returns (or resolves) if the parser accepted it, or rejected it with its documented error. Any
   * error that this throws is a fault.
   */
  run(input: Uint8Array): void | Promise<void>;
}

/** An input that made a target fail. */
export interface Fault {
  readonly target: string;
  readonly input: Uint8Array;
  readonly error: unknown;
}
