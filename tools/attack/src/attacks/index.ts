import type { Attack } from "../attack.js";
import { certificateAttacks } from "./certificates/certificate-attacks.js";
import { connectionAttacks } from "./connections/connection-attacks.js";
import { handshakeStorm } from "./connections/handshake-storm.js";
import { forgedCertificates } from "./identity/forged-certificates.js";
import { streamAttacks } from "./streams/stream-attacks.js";

/** Every attack on istiod. */
export const attacks: readonly Attack[] = [
  ...certificateAttacks,
  ...connectionAttacks,
  handshakeStorm,
  ...streamAttacks,
  forgedCertificates,
];
