import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Attack } from "../../attack.js";
import { probePath } from "../../target/agent-process.js";
import type { AttackedAgent } from "../../target/agent-target.js";
import { scaled } from "../scaled.js";

type AgentAttack = Attack<AttackedAgent>;

/** Opens connections to the status port, writes a text to each, and returns what the agent did after a time. */
async function connections(
  { statusPort, attackerAddress }: AttackedAgent,
  count: number,
  { text, read, waitMs }: { readonly text: string; readonly read: boolean; readonly waitMs: number },
): Promise<string> {
  const sockets: Socket[] = [];
  const statuses = new Map<string, number>();
  let closed = 0;
  for (let n = 0; n < count; n++) {
    const socket = connect({ host: "127.0.0.1", port: statusPort, localAddress: attackerAddress });
    sockets.push(socket.on("error", () => undefined).once("close", () => closed++));
    if (read)
      socket.once("data", (bytes: Buffer) => {
        const status = bytes.toString("latin1").slice(9, 12);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        socket.resume();
      });
    else socket.pause();
    socket.write(text);
    if (n % 50 === 0) await wait(10);
  }
  await wait(waitMs);
  const [ended, seen] = [closed, [...statuses].map(([status, times]) => `${times} × ${status}`)];
  for (const socket of sockets) socket.destroy();
  return [`${count} connections`, `closed by the agent: ${ended}`, ...seen].join("; ");
}

const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

const unfinished: AgentAttack = {
  name: "agent-status-unfinished",
  description: "2,000 connections to the status port send a part of their headers, and wait",
  run: (target, scale) =>
    connections(target, scaled(2000, scale), {
      text: `GET /healthz/ready HTTP/1.1\r\nX: ${"x".repeat(8000)}`,
      read: true,
      waitMs: 12_000,
    }),
};

const unreadMetrics: AgentAttack = {
  name: "agent-status-unread",
  description: "500 connections pipeline 50 scrapes each, and do not read the answers",
  run: (target, scale) =>
    connections(target, scaled(500, scale), {
      text: request("/stats/prometheus").repeat(50),
      read: false,
      waitMs: 5000,
    }),
};

const probes: AgentAttack = {
  name: "agent-probes",
  description: "2,000 probes at once of an application that does not answer",
  run: (target, scale) =>
    connections(target, scaled(2000, scale), { text: request(probePath), read: true, waitMs: 7000 }),
};

/** Attacks on the agent's status port. */
export const statusAttacks: readonly AgentAttack[] = [unfinished, unreadMetrics, probes];
