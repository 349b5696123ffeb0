/** Resolves after pending work that only waits for the event loop. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}
