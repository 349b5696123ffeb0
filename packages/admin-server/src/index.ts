export { createAdminServer, createSecureAdminServer, type HttpLimits } from "./admin-server.js";
export { type AnswerLimits, AnswerQueue } from "./answer-queue.js";
export { crossSiteReason, mayChangeState, type RequestOrigin } from "./cross-site.js";
export {
  type Guard,
  type HttpAddress,
  HttpServer,
  type Refusal,
  type Route,
  type Site,
  writeJson,
} from "./http-server.js";
export { shareConcurrent } from "./share-concurrent.js";
export { BodyTooLargeError, readBody } from "./read-body.js";
