import { eventually } from "../eventually.js";
import { haveSameBlocks } from "./envoy-secrets.js";
import { type RotationRig, trustDomains } from "./rotation-rig.js";

/** A change of certificates. */
export interface RotationEvent {
  readonly name: string;
  /** Stages, each of which begins when everything has reached the one before. */
  readonly stages: readonly Stage[];
}

export interface Stage {
  /** Makes the change. */
  change(rig: RotationRig): Promise<void>;
  /** Returns a function that reports whether both Envoys have the result. Called before the change. */
  watch(rig: RotationRig): Promise<() => Promise<boolean>>;
}

/** Certificates are renewed, twice each. */
const leavesRenewed: RotationEvent = {
  name: "leaf-renewed",
  stages: [
    { change: async () => undefined, watch: untilRenewed },
    { change: async () => undefined, watch: untilRenewed },
  ],
};

/** Another intermediate of the same root signs. */
const intermediateReplaced: RotationEvent = {
  name: "intermediate-replaced",
  stages: [{ change: ({ ca }) => ca.renewIntermediate(), watch: untilIssued }],
};

/** Another root is trusted in addition, an intermediate of it signs, and the first root is not trusted any more. */
const rootReplaced: RotationEvent = {
  name: "root-replaced",
  stages: [trustAdded(({ ca }) => ca.addRoot()), signByAdded(), distrustOld()],
};

/** The same, to a CA that has no intermediate and an RSA key. */
const caReplaced: RotationEvent = {
  name: "ca-replaced",
  stages: [trustAdded(({ ca }) => ca.addOtherCa()), signByAdded(), distrustOld()],
};

/** Revocation lists are published. They revoke a certificate that the server has accepted until then. */
const listsPublished: RotationEvent = {
  name: "crl-published",
  stages: [
    {
      async change(rig) {
        const stolen = await rig.issueStolen();
        if (!(await rig.accepts(stolen))) throw new Error("the server does not accept the certificate to be revoked");
        await rig.ca.revoke(stolen.serial);
        await rig.mountRevocationLists();
        await eventually("the revoked certificate is refused", async () => !(await rig.accepts(stolen)), reachMs);
      },
      watch: async (rig) => async () =>
        (await rig.secrets()).every(({ revocationLists }) => haveSameBlocks(revocationLists, rig.ca.revocationLists)),
    },
  ],
};

/** The mesh has another trust domain, with the former one as alias until all certificates have the new one. */
const trustDomainChanged: RotationEvent = {
  name: "trust-domain-changed",
  stages: [
    { change: (rig) => rig.setTrustDomain(trustDomains[1], [trustDomains[0]]), watch: untilNamed },
    { change: (rig) => rig.setTrustDomain(trustDomains[1], []), watch: untilNamed },
  ],
};

/** All events, in the order in which they happen: those after `crl-published` keep the CA that the lists are of. */
export const rotationEvents: readonly RotationEvent[] = [
  leavesRenewed,
  intermediateReplaced,
  rootReplaced,
  caReplaced,
  listsPublished,
  trustDomainChanged,
];

/** Milliseconds in which a stage must reach everything. */
export const reachMs = 180_000;

async function untilRenewed(rig: RotationRig): Promise<() => Promise<boolean>> {
  const before = (await rig.secrets()).map(({ leaf }) => leaf.serialNumber);
  return async () => (await rig.secrets()).every(({ leaf }, n) => leaf.serialNumber !== before[n]);
}

async function untilIssued(rig: RotationRig): Promise<() => Promise<boolean>> {
  return async () => (await rig.secrets()).every(({ leaf }) => rig.ca.hasIssued(leaf));
}

async function untilTrusted(rig: RotationRig): Promise<() => Promise<boolean>> {
  return async () => (await rig.secrets()).every(({ roots }) => haveSameBlocks(roots, rig.ca.roots));
}

async function untilNamed(rig: RotationRig): Promise<() => Promise<boolean>> {
  return async () => (await rig.secrets()).every(({ identity }) => identity.startsWith(`spiffe://${trustDomains[1]}/`));
}

/** A stage that adds a root, of which agents and proxies learn. */
function trustAdded(add: (rig: RotationRig) => Promise<void>): Stage {
  return {
    async change(rig) {
      await add(rig);
      await rig.mountRoots();
    },
    watch: untilTrusted,
  };
}

function signByAdded(): Stage {
  return { change: ({ ca }) => ca.signByAdded(), watch: untilIssued };
}

/** A stage that removes a root. It has reached everything when the roots of issued certificates do not have it. */
function distrustOld(): Stage {
  return {
    async change(rig) {
      await rig.ca.removeOldRoot();
      await rig.mountRoots();
    },
    watch: untilTrusted,
  };
}
