import { createServer } from "node:net";

/** A part of 127.0.0.0/8 that no other mesh on this machine uses meanwhile. */
export interface Subnet {
  /** Where the nth workload is reached; n from 1. */
  address(n: number): string;
  /** Where the nth workload calls out. */
  outbound(n: number): string;
  /** The nth pod's address in a network of its own, and what distinguishes that network's names. */
  pod(n: number): string;
  readonly id: string;
  /** The nth service's cluster IP; nobody listens there. */
  service(n: number): string;
  release(): void;
}

const claimPort = 15999;

/** Claims a subnet by listening on its last address, so that test files that run side by side do not meet. */
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
