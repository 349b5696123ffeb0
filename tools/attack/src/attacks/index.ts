import type { Attack } from "../attack.js";
import { streamAttacks } from "./streams/stream-attacks.js";

/** Every attack on istiod. */
export const attacks: readonly Attack[] = [...streamAttacks];
