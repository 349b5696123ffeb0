import type { FieldPath, Report, IssueCode } from "../decoding/report.js";

/** A field of a document that is being checked, and what is found wrong there. */
export class Place {
  private constructor(
    private readonly report: Report,
    readonly path: FieldPath,
  ) {}

  /** The `spec` of a document. */
  static spec(report: Report): Place {
    return new Place(report, ["spec"]);
  }

  static of(report: Report, path: FieldPath): Place {
    return new Place(report, path);
  }

  at(...path: FieldPath): Place {
    return new Place(this.report, [...this.path, ...path]);
  }

  /** The object is refused. `message` continues the field's name: "is 0, expected …". */
  error(message: string): void {
    this.report.error(this.path, message);
  }

  /** The object is accepted, and the user told. */
  warning(message: string, code?: IssueCode): void {
    this.report.warning(this.path, message, code);
  }
}

/** Checks each element of a list at its own place. */
export function each<T>(
  values: readonly T[],
  place: Place,
  check: (value: T, place: Place, index: number) => void,
): void {
  values.forEach((value, i) => check(value, place.at(i), i));
}
