import { query } from "@istiod/incremental";
import type { HttpFilter } from "../envoy/filters.js";
import { rejectingJwtFilter, writtenJwtFilters } from "./jwt-authentication.js";
import { rejectsEveryToken } from "./policy-bound.js";

/**
 * The JWT filter for the client's RequestAuthentications; none if there are none. One that rejects every request
 * stands for a RequestAuthentication without a good version, and for policies that are too many bytes.
 */
export const jwtFilters = query("jwtFilters", (q): readonly HttpFilter[] =>
  q.call(rejectsEveryToken) === undefined ? q.call(writtenJwtFilters) : [rejectingJwtFilter()],
);
