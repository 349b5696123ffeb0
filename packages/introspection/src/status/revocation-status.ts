import { revocationFault } from "@istiod/ca";
import type { SourceStatus } from "@istiod/status-page";
import type { AuthorityState } from "./certificate-statuses.js";

/** Returns the state of the revocation lists; none if the operator gives none. */
export function revocationStatuses(running: AuthorityState | undefined): readonly SourceStatus[] {
  if (running?.revocationListsFile === undefined) return [];
  const { bundle } = running.authority;
  if (bundle.revocationLists.length === 0 && bundle.revocationProblem === undefined) return [];
  const fault = revocationFault(bundle, Date.now());
  return [
    {
      name: "Revocation lists",
      location: running.revocationListsFile,
      state: fault === undefined ? "current" : "stale",
      reasons: fault === undefined ? [] : [fault],
    },
  ];
}
