export { createAdminServer, createSecureAdminServer, type HttpLimits } from "./admin-server.js";
export { crossSiteReason, mayChangeState, type RequestOrigin } from "./cross-site.js";
export { BodyTooLargeError, readBody } from "./read-body.js";
