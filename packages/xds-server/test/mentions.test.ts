import { expect, test } from "vitest";
import { mentionsName } from "../src/protocol/mentions.js";

test.each([
  [
    "Error adding/updating cluster(s) outbound|80||a.shop.svc.cluster.local: bad ring size",
    "outbound|80||a.shop.svc.cluster.local",
    true,
  ],
  [
    "Error adding/updating cluster(s) outbound|80||a.shop.svc.cluster.local: bad ring size",
    "a.shop.svc.cluster.local",
    false,
  ],
  ["Error adding/updating cluster(s) outbound|80||a.shop.svc.cluster.local: bad ring size", "a", false],
  ["Error adding/updating listener(s) 0.0.0.0_80: no filter, virtualInbound: no address", "0.0.0.0_80", true],
  ["Error adding/updating listener(s) 0.0.0.0_80: no filter, virtualInbound: no address", "virtualInbound", true],
  ["Error adding/updating listener(s) 0.0.0.0_8080: no filter", "0.0.0.0_80", false],
  ["route 80 of 8080 is not known: 80.", "80", true],
  ["unknown cluster 'b' in 'bb'", "b", true],
  ["unknown cluster 'bb'", "b", false],
  ["the last word is c.", "c", true],
  ["the host is c.d", "c", false],
  ["", "a", false],
  ["anything", "", false],
])("%j names %j: %j", (message, name, named) => {
  expect(mentionsName(message, name)).toBe(named);
});
