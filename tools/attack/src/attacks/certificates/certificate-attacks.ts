import { setTimeout as wait } from "node:timers/promises";
import { connectCa } from "@istiod/bench";
import type { Attack } from "../../attack.js";
import type { AttackedIstiod } from "../../target/istiod-target.js";
import { scaled } from "../scaled.js";
import { type CertificateCall, frame, requestCertificate, validRequest } from "./certificate-call.js";

/**
 * Sends calls at once, each on a connection of its own, while an honest caller requests a certificate, which must
 * succeed. Returns the gRPC statuses of the attack's calls.
 */
async function flood(target: AttackedIstiod, count: number, call: CertificateCall, holdMs: number): Promise<string> {
  const sessions = Array.from({ length: count }, () => connectCa(target.ports.xds));
  const honest = connectCa(target.istiod.xds);
  try {
    const answers = sessions.map((session) => requestCertificate(session, call));
    const place = target.places.at(-1);
    if (place === undefined) throw new Error("the target has no honest proxy");
    const begun = performance.now();
    const status = await requestCertificate(honest, { token: target.tokens.of(place), body: validRequest() });
    const ms = performance.now() - begun;
    if (status !== "0") throw new Error(`an honest caller got status ${status}`);
    await Promise.race([Promise.all(answers), wait(holdMs)]);
    for (const session of sessions) session.destroy();
    const counts = new Map<string, number>();
    for (const each of await Promise.all(answers)) counts.set(each, (counts.get(each) ?? 0) + 1);
    const statuses = [...counts].map(([each, n]) => `${n} × status ${each}`).join(", ");
    return `${count} requests: ${statuses}; honest caller ${ms.toFixed(0)} ms`;
  } finally {
    for (const session of [...sessions, honest]) session.destroy();
  }
}

function tokenOf({ places, tokens }: AttackedIstiod): string {
  const [place] = places;
  if (place === undefined) throw new Error("the target has no honest proxy");
  return tokens.of(place);
}

const burst: Attack = {
  name: "certificate-burst",
  description: "an authenticated caller requests 2,000 certificates at once, each on a connection of its own",
  run: (target, scale) => flood(target, scaled(2000, scale), { token: tokenOf(target), body: validRequest() }, 60_000),
};

const strangers: Attack = {
  name: "stranger-bodies",
  description: "500 callers without credentials begin certificate requests of 4 MB",
  run: (target, scale) => {
    const body = frame(4 * 1024 * 1024, Buffer.alloc(1024 * 1024));
    return flood(target, scaled(500, scale), { body, unfinished: true }, 10_000);
  },
};

const unfinished: Attack = {
  name: "unfinished-bodies",
  description: "an authenticated caller leaves 500 certificate requests of 90 KB unfinished",
  run: (target, scale) => {
    const body = frame(95 * 1024, Buffer.alloc(90 * 1024));
    return flood(target, scaled(500, scale), { token: tokenOf(target), body, unfinished: true }, 15_000);
  },
};

const oversize: Attack = {
  name: "oversize-requests",
  description: "an authenticated caller sends 200 certificate requests that announce 16 MB",
  run: (target, scale) => {
    const body = frame(16 * 1024 * 1024, Buffer.alloc(128 * 1024));
    return flood(target, scaled(200, scale), { token: tokenOf(target), body, unfinished: true }, 10_000);
  },
};

/** Attacks on the certificate authority. */
export const certificateAttacks: readonly Attack[] = [burst, strangers, unfinished, oversize];
