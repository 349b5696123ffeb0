import { setTimeout as wait } from "node:timers/promises";
import { clusterType, endpointType } from "@istiod/xds-server";
import { type Channel, encodeRequest, openChannel } from "@istiod/xds-server/testing";
import { expect, it } from "vitest";
import { sidecarNode } from "../src/attacks/streams/stream-flood.js";
import { type IstiodTarget, startIstiodTarget } from "../src/target/istiod-target.js";

const streams = 40;
const deadlineMs = 60_000;

/** Opens a stream and waits until istiod has answered it, so that the connections have an order. */
function open({ ports }: IstiodTarget, stream: number, ended: () => void): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const channel = openChannel(ports.plaintext, "delta", {
      message: () => resolve(channel),
      ended: (error) => {
        reject(error ?? new Error("the stream ended before its first answer"));
        ended();
      },
    });
    channel.send(encodeRequest("delta", { node: sidecarNode(stream), typeUrl: clusterType, names: ["*"] }));
  });
}

/** Requests names of which istiod keeps most of a megabyte. All streams together remain below its limit of names. */
function requestManyNames(channel: Channel, stream: number): void {
  const names = Array.from({ length: 2400 }, (_, i) => `outbound|80||${"x".repeat(300)}-${stream}-${i}.example.com`);
  channel.send(encodeRequest("delta", { typeUrl: endpointType, names }));
}

async function metric({ istiod }: IstiodTarget, name: string): Promise<number> {
  const text = await (await fetch(`${istiod.http}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1) ?? 0,
  );
}

/** Collects garbage until a condition holds: only what a collection leaves is pressure. */
async function eventually(target: IstiodTarget, condition: () => Promise<boolean>): Promise<void> {
  for (const until = performance.now() + deadlineMs; !(await condition()); await wait(200)) {
    if (performance.now() > until) throw new Error("the condition did not hold in time");
    if (!target.isAlive()) throw new Error(`istiod has ended:\n${target.istiod.output()}`);
    await target.istiod.heap("collect");
  }
}

it("an istiod with a small heap closes its newest connections, counts them and survives", async () => {
  const target = await startIstiodTarget({ heapMiB: 128, services: 20, env: { ISTIOD_MEMORY_THRESHOLD: "60" } });
  const closed = new Set<number>();
  const channels: Channel[] = [];
  let isOver = false;
  try {
    for (let stream = 0; stream < streams; stream++) {
      channels.push(await open(target, stream, () => void (isOver || closed.add(stream))));
    }
    // Whenever the pressure begins, the newest connections have sent their names.
    for (let stream = streams - 1; stream >= 0; stream--) requestManyNames(channels[stream]!, stream);
    const shed = 'istiod_xds_limited_total{reason="memory_pressure"}';
    await eventually(target, async () => (await metric(target, shed)) > 0 && closed.size > 0);
    await eventually(target, async () => (await metric(target, "istiod_memory_pressure")) === 0);
    const newest = Array.from({ length: closed.size }, (_, i) => streams - 1 - i);
    expect([...closed].sort((a, b) => b - a)).toEqual(newest);
    expect(closed.size).toBeLessThan(streams);
    expect(target.streamsLost).toBe(0);
    expect(target.isAlive()).toBe(true);
    expect(await target.update()).toBe(true);
  } finally {
    isOver = true;
    for (const channel of channels) channel.cancel();
    await target.close();
  }
}, 180_000);
