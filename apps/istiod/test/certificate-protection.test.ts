import { chmod, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { folder, serve } from "./serving.js";

afterEach(() => {
  vi.useRealTimers();
});

const ready = async (http: string): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${http}/ready`);
  return { status: response.status, text: await response.text() };
};

it("/ready fails once the serving certificate has expired, and names it", async () => {
  const root = await folder({ "config/empty.yaml": "" });
  const { http } = await serve({
    configDir: join(root, "config"),
    caDir: join(root, "ca"),
    secureGRPCAddr: "127.0.0.1:0",
  });
  expect((await ready(http)).status).toBe(200);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 48 * 3_600_000 });
  const expired = await ready(http);
  expect(expired.status).toBe(503);
  expect(expired.text).toMatch(/^serving certificate expired at \d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
  vi.setSystemTime(Date.now() + 4000 * 24 * 3_600_000);
  expect((await ready(http)).text).toMatch(
    /^serving certificate expired at .*\nsigning certificate, or one above it, expired at .*\n$/,
  );
});

it("warns of a CA key that others can read, and creates it for its owner only", async () => {
  const root = await folder({ "config/empty.yaml": "" });
  const start = () =>
    serve({ configDir: join(root, "config"), caDir: join(root, "ca"), secureGRPCAddr: "127.0.0.1:0" });
  const key = join(root, "ca", "ca-key.pem");
  const first = await start();
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  expect(first.lines.filter(({ msg }) => msg.includes("private key"))).toEqual([]);
  await chmod(key, 0o644);
  const second = await start();
  expect(second.lines.filter(({ msg }) => msg.includes("private key"))).toMatchObject([
    { level: "warn", msg: `${key}: the private key can be accessed by others (mode 0644, expected 0600)` },
  ]);
});

it("says that nobody can get a first certificate without --tokensDir", async () => {
  const root = await folder({ "config/empty.yaml": "", "tokens/shop/cart": "cart-0123456789abcdef" });
  const start = (tokensDir: string) =>
    serve({ configDir: join(root, "config"), caDir: join(root, "ca"), secureGRPCAddr: "127.0.0.1:0", tokensDir });
  const warning =
    "neither --tokenKeyFile nor --tokensDir is set: callers are authenticated by certificates only, so workloads cannot get their first one";
  expect((await start("")).lines.filter(({ msg }) => msg === warning)).toHaveLength(1);
  expect((await start(join(root, "tokens"))).lines.filter(({ msg }) => msg === warning)).toEqual([]);
});
