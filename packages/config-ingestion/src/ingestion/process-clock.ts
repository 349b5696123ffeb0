import { createClock } from "@istiod/runtime";

/** The clock of sources and ingestion. Its timers keep a program alive that only waits for the first commit. */
export const processClock = createClock({ isMonotonic: true, keepsProcessAlive: true });
