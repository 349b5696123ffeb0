import type { Target } from "../target.js";
import { admissionReviews } from "./admission-reviews.js";
import { dnsMessages } from "./dns-messages.js";
import { grpcFrames } from "./grpc-frames.js";
import { nodeMetadata } from "./node-metadata.js";
import { probeAnswers } from "./probe-answers.js";
import { signingRequests } from "./signing-requests.js";
import { wireFields } from "./wire-fields.js";
import { xdsRequests } from "./xds-requests.js";
import { yamlDocuments } from "./yaml-documents.js";

/** Every target, by area. */
export const targets: readonly Target[] = [
  admissionReviews,
  dnsMessages,
  grpcFrames,
  nodeMetadata,
  probeAnswers,
  signingRequests,
  wireFields,
  xdsRequests,
  yamlDocuments,
];
