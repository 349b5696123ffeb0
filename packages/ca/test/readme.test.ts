import { join } from "node:path";
import { expect, test } from "vitest";
import { P256, request, scratch, show, verify } from "./openssl.js";
import { issue } from "./readme-example.js";

test("the README's example issues certificates without a mesh", async () => {
  const directory = join(await scratch(), "ca");
  const { request: csr } = await request(P256);
  const chain = (await issue(directory, csr)).split(/(?<=-----END CERTIFICATE-----\n)/);
  await verify(chain);
  expect(await show(chain[0]!)).toContain("URI:spiffe://example.org/ns/shop/sa/cart");
  expect((await issue(directory, csr)).endsWith(chain[1]!)).toBe(true);
});
