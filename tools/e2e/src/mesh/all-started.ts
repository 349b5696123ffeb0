/**
 * Waits until every start has ended, so that nothing is still starting when the caller closes the rest after a failure.
 *
 * @throws the first failure
 */
export async function allStarted(starts: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(starts)).find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
