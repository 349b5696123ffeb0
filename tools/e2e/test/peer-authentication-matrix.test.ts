import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mint, type Minted, mintRevocationList, uri } from "@istiod/ca/testing";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();

const modes = ["DISABLE", "PERMISSIVE", "STRICT"] as const;
type Mode = (typeof modes)[number];

/** Ports of the workload, with the modes that override the workload's. */
const ports: readonly { readonly port: number; readonly override?: Mode }[] = [
  { port: 8000 },
  { port: 8001, override: "DISABLE" },
  { port: 8002, override: "PERMISSIVE" },
  { port: 8003, override: "STRICT" },
];

const account = "/ns/shop/sa/client";
const acceptedAs = (trustDomain: string): string => `accepted as spiffe://${trustDomain}${account}`;
const anonymous = "accepted without identity";
const noTls = "refused: the port answers TLS in plaintext";
const noChain = "refused: the connection is closed before a handshake";
const noCertificate = "refused in the handshake: a certificate is required";
const foreign = "refused in the handshake: the name is not of an accepted trust domain";
const outdated = "refused in the handshake: the certificate is expired or not valid yet";
const revoked = "refused in the handshake: the certificate is revoked";
const noPath = "refused in the handshake: no certificate of the path is a root";
const forged = "refused in the handshake: the signature is not that of the root";

/** The outcomes by TLS alerts. TLS 1.2 has no alert for a missing certificate. */
const alerts: Readonly<Record<string, string>> = {
  "handshake failure": noCertificate,
  "certificate required": noCertificate,
  "certificate unknown": foreign,
  "certificate expired": outdated,
  "certificate revoked": revoked,
  "unknown ca": noPath,
  "decrypt error": forged,
};

/** Protocols by which the proxies of the mesh announce HTTP. */
const meshProtocols = ["istio-http/1.1", "istio", "http/1.1"];

/**
 * The outcome of each kind of connection to a port that declares HTTP.
 *
 * DISABLE: TLS is not detected. Its first bytes are a malformed request, which Envoy answers with status 400.
 * STRICT: one chain, for TLS. Whatever is not TLS matches none.
 * PERMISSIVE: a chain for TLS with the ALPN of the mesh, which verifies as STRICT does, and one for plaintext. Other TLS
 * matches none. A verification that fails does not fall back to plaintext.
 */
const table: Readonly<Record<string, Readonly<Record<Mode, string>>>> = {
  plaintext: { DISABLE: anonymous, PERMISSIVE: anonymous, STRICT: noChain },
  "mutual TLS": { DISABLE: noTls, PERMISSIVE: acceptedAs("new.example"), STRICT: acceptedAs("new.example") },
  "mutual TLS without the ALPN of the mesh": {
    DISABLE: noTls,
    PERMISSIVE: noChain,
    STRICT: acceptedAs("new.example"),
  },
  // The application learns the name that is in the certificate, not the one that the alias is of.
  "an aliased trust domain": {
    DISABLE: noTls,
    PERMISSIVE: acceptedAs("old.example"),
    STRICT: acceptedAs("old.example"),
  },
  // The root has signed these too: only the prefixes of names in the validation context tell them apart.
  "another trust domain": { DISABLE: noTls, PERMISSIVE: foreign, STRICT: foreign },
  "a trust domain that begins like the own one": { DISABLE: noTls, PERMISSIVE: foreign, STRICT: foreign },
  "a certificate without a name": { DISABLE: noTls, PERMISSIVE: foreign, STRICT: foreign },
  "an expired certificate": { DISABLE: noTls, PERMISSIVE: outdated, STRICT: outdated },
  "a certificate that is not valid yet": { DISABLE: noTls, PERMISSIVE: outdated, STRICT: outdated },
  "a revoked certificate": { DISABLE: noTls, PERMISSIVE: revoked, STRICT: revoked },
  "a certificate of a revoked intermediate": { DISABLE: noTls, PERMISSIVE: revoked, STRICT: revoked },
  "a certificate without its intermediate": { DISABLE: noTls, PERMISSIVE: noPath, STRICT: noPath },
  "a certificate of another root": { DISABLE: noTls, PERMISSIVE: noPath, STRICT: noPath },
  "a certificate of another root of the same name": { DISABLE: noTls, PERMISSIVE: forged, STRICT: forged },
  "TLS without a certificate": { DISABLE: noTls, PERMISSIVE: noCertificate, STRICT: noCertificate },
};
type Case = keyof typeof table;

interface Client {
  readonly cert?: string;
  readonly key?: string;
  readonly protocols: readonly string[];
}

interface TestCa {
  /** The files of a plugged-in CA. */
  readonly files: Readonly<Record<string, string>>;
  readonly revocationLists: string;
  /** The client of each case; undefined: plaintext. */
  readonly clients: Readonly<Record<Case, Client | undefined>>;
}

const hour = 3_600_000;

/** Mints a root with two intermediates, of which one is revoked, and the certificates of all clients. */
async function createCa(): Promise<TestCa> {
  const root = await mint({ ca: true, subject: "CN=root" });
  const [otherRoot, namesake] = [await mint({ ca: true }), await mint({ ca: true, subject: "CN=root" })];
  const intermediate = await mint({ ca: true, subject: "CN=intermediate", issuer: root });
  const compromised = await mint({ ca: true, subject: "CN=compromised", issuer: root });
  const client = async (
    options: { domain?: string; issuer?: Minted; chain?: string; notBefore?: number; notAfter?: number } = {},
  ): Promise<Client & { readonly serial: string }> => {
    const { domain = "new.example", issuer = intermediate, chain = issuer.pem, ...validity } = options;
    const names = domain === "" ? [] : [uri(`spiffe://${domain}${account}`)];
    const minted = await mint({ issuer, subject: "CN=client", names, ...validity });
    const serial = minted.certificate.serialNumber;
    return { cert: minted.pem + chain, key: minted.keyPem, protocols: meshProtocols, serial };
  };
  const stolen = await client();
  return {
    files: {
      "ca-cert.pem": intermediate.pem,
      "ca-key.pem": intermediate.keyPem,
      "cert-chain.pem": intermediate.pem + root.pem,
      "root-cert.pem": root.pem,
    },
    revocationLists: [
      await mintRevocationList(root, { revoked: [compromised.certificate.serialNumber] }),
      await mintRevocationList(intermediate, { revoked: [stolen.serial] }),
      await mintRevocationList(compromised),
    ].join("\n"),
    clients: {
      plaintext: undefined,
      "mutual TLS": await client(),
      "mutual TLS without the ALPN of the mesh": { ...(await client()), protocols: ["http/1.1"] },
      "an aliased trust domain": await client({ domain: "old.example" }),
      "another trust domain": await client({ domain: "other.example" }),
      "a trust domain that begins like the own one": await client({ domain: "new.example.org" }),
      "a certificate without a name": await client({ domain: "" }),
      "an expired certificate": await client({ notBefore: -2 * hour, notAfter: -60_000 }),
      "a certificate that is not valid yet": await client({ notBefore: hour, notAfter: 2 * hour }),
      "a revoked certificate": stolen,
      "a certificate of a revoked intermediate": await client({ issuer: compromised }),
      "a certificate without its intermediate": await client({ chain: "" }),
      "a certificate of another root": await client({ issuer: otherRoot }),
      "a certificate of another root of the same name": await client({ issuer: namesake }),
      "TLS without a certificate": { protocols: meshProtocols },
    },
  };
}

function policy(mode: Mode): string {
  const overrides = ports.flatMap(({ port, override }) => (override ? [`${port}: {mode: ${override}}`] : []));
  return `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  mtls: {mode: ${mode}}
  portLevelMtls: {${overrides.join(", ")}}
`;
}

/** Starts one Envoy, with ports of all modes, that trusts the CA and has its revocation lists. */
async function startServer(ca: TestCa, directory: string, istiodEnv: Readonly<Record<string, string>>): Promise<Mesh> {
  const pluggedInCa = join(directory, "cacerts");
  await mkdir(pluggedInCa);
  for (const [name, text] of Object.entries(ca.files)) await writeFile(join(pluggedInCa, name), text, { mode: 0o600 });
  const ingress = ports
    .slice(1)
    .map(({ port }) => ({ port: { number: port, protocol: "HTTP", name: `http-${port}` } }));
  return startMesh({
    pluggedInCa,
    istiodEnv,
    meshConfig: "trustDomain: new.example\ntrustDomainAliases: [old.example]\n",
    objects: policy("STRICT"),
    workloads: [
      {
        app: "web",
        sidecar: { ingress },
        files: { "var/run/secrets/istio/crl/ca-crl.pem": ca.revocationLists },
      },
    ],
  });
}

const versions = ["TLSv1.2", "TLSv1.3"] as const;
type Version = (typeof versions)[number];

/** Sends a request as a client does, and returns the outcome. */
async function connect(mesh: Mesh, port: number, client: Client | undefined, version: Version): Promise<string> {
  const url = `${client === undefined ? "http" : "https"}://web:${port}/`;
  const options = client && { tls: { ...client, anyName: true, isUnverified: true, version } };
  try {
    const { status, seen } = await mesh.enter("web", url, options);
    if (status !== 200 || seen === undefined) return `status ${status}`;
    return seen.peer === "" ? anonymous : `accepted as ${seen.peer}`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (message.includes("wrong version number")) return noTls;
    const [, alert = ""] = /alert ([a-z ]+):/.exec(message) ?? [];
    return alerts[alert] ?? (code === "ECONNRESET" ? noChain : message);
  }
}

describe("connections to an Envoy, by the mode of PeerAuthentication", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let directory: string;
  let ca: TestCa;
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    directory = await mkdtemp(join(tmpdir(), "istiod-e2e-matrix-"));
    ca = await createCa();
    mesh = await startServer(ca, directory, {});
  }, 90_000);
  afterAll(async () => {
    await mesh?.close();
    if (directory) await rm(directory, { recursive: true });
  });

  it.each(modes)(
    "are accepted or refused as in Istio, where the workload's mode is %s, also by modes of ports",
    async (mode) => {
      await mesh.apply("objects", policy(mode));
      await eventually(
        "Envoy uses the new listeners",
        async () => (await mesh.stat("web", "listener_manager.total_listeners_warming")) === 0,
      );
      for (const version of versions) {
        const outcomes: Record<string, Record<Case, string>> = {};
        const expected: Record<string, Record<Case, string>> = {};
        for (const { port, override } of ports) {
          const column = `${version}, port ${port}, ${override ?? mode}`;
          const [seen, wanted]: Record<Case, string>[] = [(outcomes[column] = {}), (expected[column] = {})];
          for (const [name, outcomeOf] of Object.entries(table)) {
            seen![name] = await connect(mesh, port, ca.clients[name], version);
            wanted![name] = outcomeOf[override ?? mode];
          }
        }
        expect(outcomes).toEqual(expected);
      }
    },
    60_000,
  );

  it("were served by configuration that Envoy accepted", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});

describe("connections to an Envoy with PILOT_SKIP_VALIDATE_TRUST_DOMAIN", () => {
  it("are accepted from every trust domain of the root, under the name in the certificate", async ({ skip }) => {
    skip(reason !== undefined, reason);
    const directory = await mkdtemp(join(tmpdir(), "istiod-e2e-matrix-"));
    const ca = await createCa();
    const mesh = await startServer(ca, directory, { PILOT_SKIP_VALIDATE_TRUST_DOMAIN: "true" });
    try {
      const outcomes: Record<Case, string> = {};
      for (const name of ["another trust domain", "a revoked certificate", "TLS without a certificate"])
        outcomes[name] = await connect(mesh, 8000, ca.clients[name], "TLSv1.3");
      expect(outcomes).toEqual({
        "another trust domain": acceptedAs("other.example"),
        "a revoked certificate": revoked,
        "TLS without a certificate": noCertificate,
      });
    } finally {
      await mesh.close();
      await rm(directory, { recursive: true });
    }
  }, 90_000);
});
