import type { Attack } from "../attack.js";
import type { AttackedAgent } from "../target/agent-target.js";
import type { AttackedWebhooks } from "../target/webhook-target.js";
import { dnsAttacks } from "./agent/dns-attacks.js";
import { socketAttacks } from "./agent/socket-attacks.js";
import { statusAttacks } from "./agent/status-attacks.js";
import { certificateAttacks } from "./certificates/certificate-attacks.js";
import { connectionAttacks } from "./connections/connection-attacks.js";
import { debugPages } from "./connections/debug-pages.js";
import { handshakeStorm } from "./connections/handshake-storm.js";
import { forgedCertificates } from "./identity/forged-certificates.js";
import { streamAttacks } from "./streams/stream-attacks.js";
import { webhookAttacks as ofWebhooks } from "./webhooks/webhook-attacks.js";

/** Every attack on istiod. */
export const attacks: readonly Attack[] = [
  ...certificateAttacks,
  ...connectionAttacks,
  handshakeStorm,
  debugPages,
  ...streamAttacks,
  forgedCertificates,
];

/** Every attack on the webhooks of an istiod. */
export const webhookAttacks: readonly Attack<AttackedWebhooks>[] = ofWebhooks;

/** Every attack on an agent. */
export const agentAttacks: readonly Attack<AttackedAgent>[] = [...dnsAttacks, ...statusAttacks, ...socketAttacks];
