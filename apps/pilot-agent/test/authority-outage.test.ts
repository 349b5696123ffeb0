import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it } from "vitest";
import { FakeIstiod } from "./fakes.js";
import { startedAgent } from "./proxyless-agent.js";

const SECOND = 1000;
const HOUR = 3600 * SECOND;

describe("an outage of the certificate authority", () => {
  it("is in logs and metrics, louder near the expiry of the certificate, and in readiness after it", async () => {
    const istiod = await FakeIstiod.start();
    const clock = new FakeClock(Date.now());
    const { agent, directory, messages, metric } = await startedAgent(istiod, {
      clock,
      env: { OUTPUT_CERTS: "out", SECRET_TTL: "24h", SECRET_GRACE_PERIOD_RATIO_JITTER: "0" },
    });
    const chain = (): Promise<string> => readFile(join(directory, "out/cert-chain.pem"), "utf8").catch(() => "");
    await expect.poll(chain).toContain("BEGIN CERTIFICATE");
    const notAfter = Date.parse(new X509Certificate(await chain()).validTo);
    expect(await metric('cert_expiry_seconds{resource_name="default"}')).toBe((notAfter - clock.now()) / SECOND);
    expect(await metric('num_outgoing_requests{request_type="CSR"}')).toBe(1);
    expect(await metric('num_failed_outgoing_requests{request_type="CSR"}')).toBeUndefined();
    await agent.checkReady();

    await istiod.stop();
    const failures = (): Promise<number | undefined> => metric('num_failed_outgoing_requests{request_type="CSR"}');
    /** Advances the clock to a remaining lifetime, and waits for the next failed request. */
    const until = async (remaining: number): Promise<void> => {
      const before = (await failures()) ?? 0;
      clock.advance(Math.max(notAfter - clock.now() - remaining, Math.min(...clock.pending)));
      await expect.poll(async () => ((await failures()) ?? 0) > before, { timeout: 20_000 }).toBe(true);
    };
    const withPrefix = (prefix: string): readonly string[] => messages().filter((line) => line.startsWith(prefix));
    await until(11.9 * HOUR);
    await until(7 * HOUR);
    expect(withPrefix("failed to get certificate: certificate authority")).toHaveLength(2);
    expect(withPrefix("workload certificate")).toEqual([]);

    await until(5 * HOUR);
    expect(withPrefix("workload certificate")).toEqual([
      expect.stringMatching(/^workload certificate expires in 18000 s and cannot be renewed: certificate authority /),
    ]);
    // Retries within a minute write no further line.
    await until(5 * HOUR - SECOND);
    expect(withPrefix("workload certificate")).toHaveLength(1);
    await agent.checkReady();

    await until(-SECOND);
    expect(withPrefix("workload certificate").at(-1)).toMatch(
      new RegExp(`^workload certificate expired at ${new Date(notAfter).toISOString()} and cannot be renewed: .*`),
    );
    expect(await metric('cert_expiry_seconds{resource_name="default"}')).toBeLessThan(0);
    await expect(agent.checkReady()).rejects.toThrow(
      `workload certificate expired at ${new Date(notAfter).toISOString()}, and no new one has been issued`,
    );

    await istiod.listen();
    clock.advance(Math.min(...clock.pending));
    await expect.poll(() => withPrefix("generated new workload certificate").length).toBe(2);
  });
});
