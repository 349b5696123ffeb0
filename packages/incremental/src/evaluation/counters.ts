/** Counts of an engine's work since it was created: see `Statistics`. */
export class Counters {
  recomputations = 0;
  replacements = 0;
  verifications = 0;
  hits = 0;
  answers = 0;
  drops = 0;

  /** Grows whenever a record is added or verified. */
  get work(): number {
    return this.recomputations + this.verifications + this.answers;
  }
}
