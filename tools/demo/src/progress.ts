/** A step of the startup that is shown as running until it is stopped. */
export interface Progress {
  /** Shows how far the step is. */
  detail(text: string): void;
  stop(): void;
}

/** Shows that a step is running. */
export type StartProgress = (step: string) => Progress;
