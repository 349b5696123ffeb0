import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it } from "vitest";
import { type IssuedCertificate, WorkloadCertificate } from "../src/certificates/workload-certificate.js";

const second = 1000;

/** A certificate with a lifetime of 20 seconds, and the requests for it that are not answered yet. */
function start() {
  const clock = new FakeClock(Date.UTC(2030, 0, 1));
  const requests: (() => void)[] = [];
  const issued: number[] = [];
  const certificate = new WorkloadCertificate({
    issue: () =>
      new Promise<IssuedCertificate>((resolve) =>
        requests.push(() =>
          resolve({ key: "key", chain: "chain", roots: "roots", notAfter: clock.now() + 20 * second }),
        ),
      ),
    graceJitter: 0,
    random: () => 0.5,
    clock,
  });
  const begin = clock.now();
  certificate.watch(() => issued.push((clock.now() - begin) / second));
  certificate.start();
  /** Answers the request that waits, and returns when the certificate is used. */
  const answer = async (): Promise<void> => {
    const before = issued.length;
    await expect.poll(() => requests.length).toBe(1);
    requests.splice(0).forEach((release) => release());
    await expect.poll(() => issued.length).toBe(before + 1);
  };
  return { clock, certificate, issued, answer };
}

describe("a certificate that is to be renewed early", () => {
  it("is renewed within the time", async () => {
    const { clock, certificate, issued, answer } = start();
    await answer();
    certificate.renewWithin(10 * second);
    expect(clock.pending).toEqual([5 * second]);
    clock.advance(5 * second);
    await answer();
    expect(issued).toEqual([0, 5]);
  });

  it("is not renewed later than it was due, or it could expire", async () => {
    const { clock, certificate, issued, answer } = start();
    await answer();
    clock.advance(9 * second);
    certificate.renewWithin(10 * second);
    expect(clock.pending).toEqual([1 * second]);
    clock.advance(1 * second);
    await answer();
    expect(issued).toEqual([0, 10]);
  });

  it("is renewed again if it is being requested, because the request may be too early", async () => {
    const { clock, certificate, issued, answer } = start();
    await answer();
    clock.advance(10 * second);
    certificate.renewWithin(10 * second);
    clock.advance(1 * second);
    await answer();
    expect(clock.pending).toEqual([4 * second]);
    clock.advance(4 * second);
    await answer();
    expect(clock.pending).toEqual([10 * second]);
    expect(issued).toEqual([0, 11, 15]);
  });
});
