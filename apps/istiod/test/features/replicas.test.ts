import { expect, test } from "vitest";
import { endpointType } from "@istiod/xds-server";
import { documents } from "@istiod/config-schema/testing";
import { objects, text } from "./every-kind.js";
import { Mesh } from "./mesh.js";

/** The same JSON with the keys of each mapping the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

const also = { "type.googleapis.com/istio.networking.nds.v1.NameTable": [] };

test("a proxy that connects to another replica receives nothing, whatever the layout of the replica's files", async () => {
  const here = await Mesh.start("delta", { "all.yaml": documents(...objects.map(text)) });
  const half = objects.length / 2;
  const there = await Mesh.start("delta", {
    "b/deep/list.yaml": JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: objects.slice(half).reverse().map(reversed),
    }),
    "a.yml": documents(
      ...objects
        .slice(0, half)
        .reverse()
        .map((each) => JSON.stringify(reversed(each))),
    ),
  });
  const proxies = [
    await here.proxy("web.shop", "10.0.1.2", { also }),
    await here.proxy("gate.shop", "10.0.1.3", { also, type: "router" }),
  ];
  for (const proxy of proxies) {
    expect(proxy.resources(endpointType).size).toBeGreaterThan(0);
    proxy.reconnect(there.address);
    await proxy.settled();
    const responses = proxy.xds.responses.filter(({ typeUrl }) => !typeUrl.startsWith("fence/"));
    expect(responses.length).toBeGreaterThan(4);
    expect(
      responses
        .filter(({ names, removed }) => names.length + removed.length > 0)
        .map(({ typeUrl, names, removed }) => ({ typeUrl, names, removed })),
    ).toEqual([]);
  }
});
