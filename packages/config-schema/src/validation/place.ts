import { type ProductBounds, readProductBounds } from "../mesh/product-bounds.js";
import type { FieldPath, Report, IssueCode } from "../decoding/report.js";

/** Bounds that the environment of the process sets, which does not change. */
let boundsOfProcess: ProductBounds | undefined;

/** A field of a document under validation, with the report of its faults. Its path is built for a fault only. */
export class Place {
  readonly #report: Report;
  readonly #above: Place | undefined;
  readonly #steps: FieldPath;

  private constructor(report: Report, above: Place | undefined, steps: FieldPath) {
    this.#report = report;
    this.#above = above;
    this.#steps = steps;
  }

  /** Returns the `spec` of a document. */
  static spec(report: Report): Place {
    return new Place(report, undefined, ["spec"]);
  }

  static of(report: Report, path: FieldPath): Place {
    return new Place(report, undefined, path);
  }

  at(...path: FieldPath): Place {
    return new Place(this.#report, this, path);
  }

  get path(): FieldPath {
    return this.#above === undefined ? this.#steps : [...this.#above.path, ...this.#steps];
  }

  /** Bounds of products of lists. */
  get bounds(): ProductBounds {
    return this.#report.bounds ?? (boundsOfProcess ??= readProductBounds(process.env));
  }

  /** Reports a fault that rejects the object. `message` continues the field's name: "is 0, expected …". */
  error(message: string): void {
    this.#report.error(this.path, message);
  }

  /** Reports a fault that does not reject the object. */
  warning(message: string, code?: IssueCode): void {
    this.#report.warning(this.path, message, code);
  }
}

/** Checks each element of a list at its own path. */
export function each<T>(
  values: readonly T[],
  place: Place,
  check: (value: T, place: Place, index: number) => void,
): void {
  for (let i = 0; i < values.length; i++) check(values[i] as T, place.at(i), i);
}
