export { type Assessment, type Attention, assess } from "./assessment.js";
export type { AssessedCertificate } from "./certificate-state.js";
export type {
  CertificateStatus,
  ChangeStatus,
  Finding,
  Instance,
  KindCount,
  Link,
  ProblemStatus,
  ProxyStatus,
  Rejection,
  ReplicaStatus,
  SourceStatus,
  StatusModel,
  TypeStatus,
} from "./model.js";
export { type PageOptions, renderPage } from "./page.js";
export { type DestinationRow, type PortRow, type ProxyDetails, renderProxyPage, type RouteRow } from "./proxy-page.js";
export type { AssessedProxy, ProxyCounts, ProxyState } from "./proxy-state.js";
export type { RejectionGroup } from "./rejection-groups.js";
export { pageHeaders, respond, type StatusRequest, type StatusResponse } from "./respond.js";
