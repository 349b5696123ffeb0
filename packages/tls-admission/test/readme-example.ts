import { deepEqual, equal } from "node:assert/strict";
import { HandshakeQueue } from "@istiod/tls-admission";

const queue = new HandshakeQueue<string>({ total: 3, perGroup: 2 });
for (const connection of ["flood 1", "flood 2", "flood 3"]) queue.push(connection, "192.0.2.66");
queue.push("proxy", "192.0.2.1");

deepEqual(
  [queue.begin(), queue.begin(), queue.begin()].map((next) => next?.connection),
  ["flood 1", "proxy", "flood 2"],
);
equal(queue.begin(), undefined);
queue.markSlow("flood 1");
deepEqual(queue.begin(), { connection: "flood 3", instead: "flood 1" });
