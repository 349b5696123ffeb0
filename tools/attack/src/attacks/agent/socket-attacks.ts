import type { ClientHttp2Session } from "node:http2";
import { setTimeout as wait } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { DiscoveryRequestSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { Attack } from "../../attack.js";
import type { AttackedAgent } from "../../target/agent-target.js";
import { openSocket, openStream } from "../../target/honest-envoy.js";
import { Outcomes } from "../connections/stranger.js";
import { scaled } from "../scaled.js";

type AgentAttack = Attack<AttackedAgent>;

const sdsPath = "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets";
const otherPath = "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters";
const mebibyte = 2 ** 20;

/** Opens connections with streams, sends a message on each stream, and returns how many the agent has ended. */
async function streams(
  socket: string,
  path: string,
  { sessions, perSession, message }: { sessions: number; perSession: number; message: (n: number) => Buffer },
): Promise<string> {
  const outcomes = new Outcomes();
  const opened: ClientHttp2Session[] = [];
  for (let n = 0; n < sessions; n++) {
    const session = openSocket(socket);
    opened.push(session);
    for (let i = 0; i < perSession && !session.destroyed; i++) {
      const stream = openStream(session, path).resume();
      stream.once("close", () => outcomes.add(`HTTP/2 error ${stream.rstCode}`));
      stream.write(message(n * perSession + i));
    }
    await wait(5);
  }
  await wait(5000);
  const ended = outcomes.toString();
  for (const session of opened) session.destroy();
  return `${sessions} connections with ${perSession} streams each; ended by the agent: ${ended}`;
}

/** Names of files, of which none exists. */
function secretNames(stream: number, count: number): Buffer {
  const resourceNames = Array.from({ length: count }, (_, n) => `file-root:none-${stream}-${n}/root.pem`);
  return encodeFrame(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { resourceNames })));
}

const secrets: AgentAttack = {
  name: "agent-sds-names",
  description: "50 connections to the SDS socket open 20 streams each, which subscribe to 1,000 files",
  run: ({ sds }, scale) =>
    streams(sds, sdsPath, { sessions: scaled(50, scale), perSession: 20, message: (n) => secretNames(n, 1000) }),
};

const unfinished: AgentAttack = {
  name: "agent-sds-unfinished",
  description: "50 connections to the SDS socket send 1 MiB of a request of 4 GiB on each of 20 streams, and wait",
  run: ({ sds }, scale) =>
    streams(sds, sdsPath, {
      sessions: scaled(50, scale),
      perSession: 20,
      message: () => encodeFrame(Buffer.alloc(mebibyte), 0xffff_ffff),
    }),
};

const otherMethods: AgentAttack = {
  name: "agent-xds-connections",
  description: "200 connections to the xDS socket open 100 streams of an unknown method each, with 64 KiB",
  run: ({ xds }, scale) =>
    streams(xds, otherPath, {
      sessions: scaled(200, scale),
      perSession: 100,
      message: () => encodeFrame(Buffer.alloc(65_536), mebibyte),
    }),
};

/** Attacks on the agent's Unix sockets, by a process of its user. */
export const socketAttacks: readonly AgentAttack[] = [secrets, unfinished, otherMethods];
