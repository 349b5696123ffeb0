import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { Address } from "@istiod/xds-server/testing";
import type { Attack } from "../../attack.js";
import { connectStranger, Outcomes } from "./stranger.js";

/** Handshakes begun in each interval: 2,000 per second if the machine, which istiod shares, is fast enough. */
const perInterval = 20;
const intervalMs = 10;
/** One in so many handshakes is completed. The others send a ClientHello, which costs the attacker nothing. */
const completedInterval = 20;
/** Of the others, one in so many stays half-open. The rest is closed once istiod has answered. */
const halfOpenInterval = 4;
/** Time after the last handshake, for those that wait for their turn. Less than istiod's timeout of handshakes. */
const holdMs = 5000;

/** Begins TLS handshakes much faster than istiod can do them. */
export const handshakeStorm: Attack = {
  name: "handshake-storm",
  description: "one address begins 8,000 TLS handshakes, at most 2,000 per second, and leaves a quarter half-open",
  async run({ istiod, ports }, scale) {
    const count = Math.max(completedInterval, Math.round(8000 * scale));
    const hello = await clientHello();
    const outcomes = new Outcomes();
    const sockets = new Set<Socket>();
    const startedAt = performance.now();
    for (let begun = 0; begun < count; begun++) {
      if (begun % perInterval === 0) await wait(intervalMs);
      const socket =
        begun % completedInterval === 0
          ? completeHandshake(ports.xds, istiod.xds, outcomes)
          : beginHandshake(ports.xds, hello, begun % halfOpenInterval === 1, outcomes);
      sockets.add(socket.once("close", () => sockets.delete(socket)));
    }
    const seconds = (performance.now() - startedAt) / 1000;
    await wait(holdMs);
    const ended = outcomes.toString();
    for (const socket of sockets) socket.destroy();
    if (!outcomes.has(answered)) throw new Error(`istiod answered no handshake: ${ended}`);
    return `${count} handshakes in ${seconds.toFixed(1)} s: ${ended}`;
  },
};

const answered = "answered";

/** Sends a ClientHello. Closes the connection once istiod has answered, unless it stays half-open. */
function beginHandshake(address: Address, hello: Buffer, staysHalfOpen: boolean, outcomes: Outcomes): Socket {
  const socket = connectStranger(address);
  socket.once("data", () => {
    outcomes.add(answered);
    if (!staysHalfOpen) socket.destroy();
  });
  socket.write(hello);
  return socket;
}

function completeHandshake(from: Address, { tls }: Address, outcomes: Outcomes): Socket {
  const socket = connectStranger(from);
  const secure = connectTls({ socket, ALPNProtocols: ["h2"], ...tls });
  secure.on("error", () => undefined);
  secure.once("secureConnect", () => {
    outcomes.add("completed");
    secure.destroy();
  });
  return socket;
}

/** Returns the ClientHello of a TLS client that offers HTTP/2. A server answers it as often as it is sent. */
function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const transport = new Duplex({
      read: () => undefined,
      write: (bytes: Buffer, _encoding, done) => {
        resolve(bytes);
        done();
      },
    });
    connectTls({ socket: transport, ALPNProtocols: ["h2"] }).on("error", () => undefined);
  });
}
