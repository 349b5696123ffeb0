import { createServer } from "node:net";

/** A subnet of 127.0.0.0/8 that no other mesh on this machine uses. */
export interface Subnet {
  /** Returns the inbound address of the nth workload, from 1. */
  address(n: number): string;
  /** Returns the outbound address of the nth workload. */
  outbound(n: number): string;
  /** Returns the address of the nth pod in the pod network. */
  pod(n: number): string;
  /** Distinguishes the names of network devices and namespaces. */
  readonly id: string;
  /** Returns the cluster IP of the nth service, at which nothing listens. */
  service(n: number): string;
  release(): void;
}

const claimPort = 15999;

/** Claims a subnet by listening on its last address, so that test files that run in parallel do not conflict. */
export async function claimSubnet(): Promise<Subnet> {
  for (;;) {
    const second = 64 + Math.floor(Math.random() * 60);
    const third = Math.floor(Math.random() * 250);
    const claim = createServer().unref();
    const claimed = await new Promise<boolean>((resolve) => {
      claim.once("error", () => resolve(false));
      claim.listen(claimPort, `127.${second}.${third}.254`, () => resolve(true));
    });
    if (!claimed) continue;
    return {
      address: (n) => `127.${second}.${third}.${n}`,
      outbound: (n) => `127.${second + 64}.${third}.${n}`,
      pod: (n) => `10.${second + 128}.${third}.${n}`,
      id: `${second}x${third}`,
      service: (n) => `10.${second}.${third}.${n}`,
      release: () => void claim.close(),
    };
  }
}
