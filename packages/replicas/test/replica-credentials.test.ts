import { X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CertificateAuthority, keepRoot, selfSignedBundle } from "@istiod/ca";
import { MemoryRootStore } from "@istiod/ca/testing";
import { replicaCredentials } from "@istiod/replicas";
import { expect, onTestFinished, test } from "vitest";

const day = Date.UTC(2030, 0, 1);
const key = { type: "ecdsa", curve: "P-256" } as const;

async function bundle() {
  const store = new MemoryRootStore();
  const root = await keepRoot(store, { organization: "example.org", key }, day);
  return selfSignedBundle(root, "memory", day);
}

/** Credentials of an issuer, with what a test changes. */
async function issuing() {
  const authority = new CertificateAuthority({ bundle: await bundle() });
  const state = { now: day, roots: "roots\n", namespace: "istio-system" };
  const credentials = replicaCredentials({
    roots: () => state.roots,
    serverNames: ["istiod.istio-system.svc"],
    issuer: authority,
    trustDomain: "example.org",
    rootNamespace: () => state.namespace,
    token: { file: "/none", namespace: "control" },
    now: () => state.now,
  });
  return { authority, state, credentials };
}

const identityOf = ({ certificate }: { readonly certificate?: { readonly cert: string } }): string | undefined =>
  new X509Certificate(certificate?.cert ?? "").subjectAltName;

test("a replica's own CA issues its certificate for the root namespace, which is kept for half of its lifetime", async () => {
  const { state, credentials } = await issuing();
  const first = await credentials();
  expect(first).toMatchObject({
    roots: "roots\n",
    serverNames: ["istiod.istio-system.svc"],
    namespace: "istio-system",
  });
  expect(first).not.toHaveProperty("token");
  expect(identityOf(first)).toBe("URI:spiffe://example.org/ns/istio-system/sa/istiod");
  state.now += 1_799_999;
  expect(await credentials()).toBe(first);
  state.now += 1;
  const second = await credentials();
  expect(second.certificate?.cert).not.toBe(first.certificate?.cert);
  expect(await credentials()).toBe(second);
});

test("a certificate is renewed after each change of the CA, the roots, or the root namespace", async () => {
  const { authority, state, credentials } = await issuing();
  const first = await credentials();
  authority.use(await bundle());
  const ofOtherCa = await credentials();
  expect(ofOtherCa.certificate?.cert).not.toBe(first.certificate?.cert);
  state.roots = "other roots\n";
  const withOtherRoots = await credentials();
  expect(withOtherRoots).toMatchObject({ roots: "other roots\n" });
  expect(withOtherRoots.certificate?.cert).not.toBe(ofOtherCa.certificate?.cert);
  state.namespace = "mesh";
  const elsewhere = await credentials();
  expect(elsewhere.namespace).toBe("mesh");
  expect(identityOf(elsewhere)).toBe("URI:spiffe://example.org/ns/mesh/sa/istiod");
  expect(await credentials()).toBe(elsewhere);
});

test("where others sign certificates, the current token of the Pod is used, in its own namespace", async () => {
  const directory = await mkdtemp(join(tmpdir(), "istiod-token-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, "token");
  const credentials = replicaCredentials({
    roots: () => "roots\n",
    serverNames: [],
    trustDomain: "example.org",
    rootNamespace: () => "istio-system",
    token: { file, namespace: "control" },
  });
  await expect(credentials()).rejects.toThrow(file);
  await writeFile(file, "one\n");
  expect(await credentials()).toEqual({ roots: "roots\n", serverNames: [], namespace: "control", token: "one" });
  await writeFile(file, "two\n");
  expect(await credentials()).toMatchObject({ token: "two" });
});

test("without known roots there are no credentials", async () => {
  const credentials = replicaCredentials({
    roots: () => {
      throw new Error("unknown roots");
    },
    serverNames: [],
    trustDomain: "example.org",
    rootNamespace: () => "istio-system",
    token: { file: "/none", namespace: "control" },
  });
  await expect(credentials()).rejects.toThrow("unknown roots");
});
