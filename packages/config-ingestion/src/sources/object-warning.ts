import { type Problem, subjectOf } from "../documents/problem.js";
import type { FieldPath } from "../documents/report.js";
import type { Kind } from "../kinds/kind.js";
import type { Location } from "./ledger.js";

/** A warning about an accepted object that cannot be given when its document is read, because it depends on other inputs. */
export interface ObjectWarning {
  readonly kind: Kind;
  /** The object's key in its kind's collection. */
  readonly key: string;
  /** Path from the root of the document. */
  readonly path: FieldPath;
  /** What is wrong and what is expected; continues the field's name. */
  readonly message: string;
}

/** The warning as a problem of the file that defines the object. */
export function problemOfWarning({ kind, key, path, message }: ObjectWarning, { file, line }: Location): Problem {
  return { severity: "warning", file, line, subject: subjectOf(kind, key), path, message };
}
