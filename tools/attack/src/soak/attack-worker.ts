import { parentPort } from "node:worker_threads";
import type { ProxyPlace } from "@istiod/bench";
import { attacks } from "../attacks/index.js";
import type { AttackCommand, AttackOutcome } from "./attack-thread.js";

async function run({ name, scale, target }: AttackCommand): Promise<AttackOutcome> {
  const attack = attacks.find((each) => each.name === name);
  if (attack === undefined) return { failed: `no attack ${name}` };
  const { tokens, ...rest } = target;
  const byId = new Map(tokens.byId);
  const whole = { ...rest, tokens: { directory: tokens.directory, of: ({ id }: ProxyPlace) => byId.get(id) ?? "" } };
  try {
    return { sent: await attack.run(whole, scale) };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

if (parentPort !== null) {
  const port = parentPort;
  port.on("message", (command: AttackCommand) => void run(command).then((outcome) => port.postMessage(outcome)));
}
