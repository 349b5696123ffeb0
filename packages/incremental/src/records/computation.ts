/** The subject of a computation: a query's call, or a fact's question about a client. */
export abstract class Computation {
  /** Its position on the active stack; -1 if it is not being computed. */
  activeAt = -1;

  /** As in `name(arg)`. */
  abstract get label(): string;
}
