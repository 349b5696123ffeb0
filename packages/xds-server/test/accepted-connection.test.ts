import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { FakeClock } from "@istiod/runtime/testing";
import { LoopTimers } from "@istiod/tls-admission";
import { expect, test } from "vitest";
import { ConnectionTable } from "../src/limits/connection-table.js";
import { AcceptedConnection } from "../src/transport/accepted-connection.js";

function accept() {
  const clock = new FakeClock();
  const limited: string[] = [];
  const socket = Object.assign(new PassThrough(), { remoteAddress: "10.0.0.1" });
  const connection = AcceptedConnection.accept(
    socket as unknown as Socket,
    {
      table: new ConnectionTable({ total: 10, unauthenticated: 10, perAddress: 10, perIdentity: 10 }),
      timers: new LoopTimers(clock),
      limited: (reason) => void limited.push(reason),
      isMemoryShort: () => false,
    },
    { handshakeTimeoutMs: 10_000, firstRequestTimeoutMs: 10_000, idleTimeoutMs: 60_000, maxStreams: 10 },
  );
  return { clock, limited, socket, connection };
}

test("a connection is not closed while the server has not begun its handshake, and has the whole time after that", () => {
  const { clock, limited, socket, connection } = accept();
  clock.advance(9000);
  connection?.queued();
  clock.advance(60_000);
  expect(socket.destroyed).toBe(false);
  connection?.begun();
  clock.advance(9000);
  expect(socket.destroyed).toBe(false);
  clock.advance(3000);
  expect(socket.destroyed).toBe(true);
  expect(limited).toEqual(["handshake_timeout"]);
});

test("a connection that was closed while it waited stays closed", () => {
  const { clock, limited, socket, connection } = accept();
  connection?.queued();
  connection?.destroy();
  clock.advance(60_000);
  expect(socket.destroyed).toBe(true);
  expect(limited).toEqual([]);
});
