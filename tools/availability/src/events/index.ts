import { rootRotated, webhookCertificate } from "./certificates.js";
import type { AvailabilityEvent } from "./event.js";
import { killEach, killLeader } from "./kills.js";
import { apiServerGone, rollingRestart, scale } from "./operations.js";
import { upgrade } from "./upgrade.js";

/** All events, in the order in which they happen. */
export const events: readonly AvailabilityEvent[] = [
  killEach,
  killLeader,
  rollingRestart,
  scale,
  apiServerGone,
  webhookCertificate,
  rootRotated,
  upgrade,
];
