import { listenHost } from "@istiod/runtime";
import { expect, it } from "vitest";

const hosts: Readonly<Record<string, readonly string[]>> = {
  localhost: ["::1", "127.0.0.1"],
  "ip6-localhost": ["::1", "fe80::1"],
};
const lookup = (host: string) => Promise.resolve((hosts[host] ?? []).map((address) => ({ address })));

it.each([
  ["localhost", "127.0.0.1"],
  ["ip6-localhost", "::1"],
  ["127.0.0.2", "127.0.0.2"],
  ["::1", "::1"],
  ["::", "::"],
  ["", ""],
  [undefined, undefined],
])("listens for %j on %j", async (host, address) => {
  expect(await listenHost(host, lookup)).toBe(address);
});

it("throws the resolver's error for an unknown name", async () => {
  await expect(listenHost("no-such-host.invalid")).rejects.toMatchObject({ syscall: "getaddrinfo" });
});
