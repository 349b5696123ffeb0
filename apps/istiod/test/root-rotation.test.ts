import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mint, type Minted } from "@istiod/ca/testing";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, serve } from "./serving.js";

const until = { timeout: 60_000, interval: 20 };
const configMap = { apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "istio-ca-root-cert" };

const filesOf = (intermediate: Minted, root: Minted, roots: readonly Minted[]): Readonly<Record<string, string>> => ({
  "ca-cert.pem": intermediate.pem,
  "ca-key.pem": intermediate.keyPem,
  "cert-chain.pem": intermediate.pem + root.pem,
  "root-cert.pem": roots.map(({ pem }) => pem).join(""),
});

/** An istiod with a plugged-in CA, which writes its roots to a namespace. */
async function withPluggedInCa(env: Readonly<Record<string, string>>) {
  const root = await mint({ ca: true, subject: "CN=first root" });
  const intermediate = await mint({ ca: true, subject: "CN=intermediate", issuer: root });
  const server = await startApiServer({ namespaces: ["istio-system", "shop"], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  const directory = await folder({
    kubeconfig: server.kubeconfig.yaml,
    ...Object.fromEntries(
      Object.entries(filesOf(intermediate, root, [root])).map(([name, text]) => [`ca/${name}`, text]),
    ),
  });
  const istiod = await serve(
    { kubeconfig: join(directory, "kubeconfig"), secureGRPCAddr: "127.0.0.1:0", namespace: "istio-system" },
    { ROOT_CA_DIR: join(directory, "ca"), ...env },
  );
  const written = (): string => {
    const found = server.objects.get(configMap) as { readonly data?: Readonly<Record<string, string>> } | undefined;
    return found?.data?.["root-cert.pem"] ?? "";
  };
  const trust = (roots: readonly Minted[]): Promise<void> =>
    writeFile(join(directory, "ca", "root-cert.pem"), filesOf(intermediate, root, roots)["root-cert.pem"] ?? "");
  return { root, istiod, written, trust };
}

test(
  "with ISTIO_MULTIROOT_MESH, a root that is added to the plugged-in CA is trusted, until it is removed",
  {
    timeout: 120_000,
  },
  async () => {
    const { root, written, trust } = await withPluggedInCa({ ISTIO_MULTIROOT_MESH: "true" });
    const added = await mint({ ca: true, subject: "CN=second root" });
    await vi.waitFor(() => expect(written()).toBe(root.pem), until);
    await trust([root, added]);
    await vi.waitFor(() => expect(written()).toBe(root.pem + added.pem), until);
    await trust([root]);
    await vi.waitFor(() => expect(written()).toBe(root.pem), until);
  },
);

test("without it, the roots stay as they are, and the log says why", { timeout: 120_000 }, async () => {
  const { root, istiod, written, trust } = await withPluggedInCa({});
  const added = await mint({ ca: true, subject: "CN=second root" });
  await vi.waitFor(() => expect(written()).toBe(root.pem), until);
  await trust([root, added]);
  await vi.waitFor(
    () => expect(JSON.stringify(istiod.lines)).toContain("the roots must stay the same unless several are allowed"),
    until,
  );
  expect(written()).toBe(root.pem);
});

test.each([
  ["the default", undefined, 1.75],
  ["true", "true", 1.75],
  ["false", "false", 1],
])(
  "with CITADEL_ENABLE_JITTER_FOR_ROOT_CERT_ROTATOR of %s, the self-signed root is first checked in time",
  async (_, jitter, intervals) => {
    // No other timer has it.
    const interval = 7_654_320;
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(Math, "random").mockReturnValue(0.75);
    const timers = vi.spyOn(globalThis, "setTimeout");
    const directory = await folder({ "mesh/none.yaml": "" });
    await serve(
      { configDir: join(directory, "mesh"), caDir: join(directory, "ca"), secureGRPCAddr: "127.0.0.1:0" },
      {
        CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL: `${interval}ms`,
        ...(jitter !== undefined && { CITADEL_ENABLE_JITTER_FOR_ROOT_CERT_ROTATOR: jitter }),
      },
    );
    const delays = timers.mock.calls.map(([, delay]) => delay ?? 0);
    expect(delays.filter((delay) => delay >= interval && delay <= 2 * interval)).toEqual([intervals * interval]);
  },
  120_000,
);
