import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  absence,
  comparable,
  filesOf,
  inputPath,
  type ReferenceCase,
  referenceCases,
  wantOf,
} from "@istiod/injector/testing";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { kubeInjectCommand, type KubeInjectSettings } from "@istiod/commands";
import { folder } from "./folder.js";

interface Printed {
  readonly out: string;
  readonly warnings: string;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}, stdin = ""): Promise<Printed> {
  const printed = { out: "", warnings: "" };
  const settings = () => ({
    compliancePolicy: env["COMPLIANCE_POLICY"] ?? "",
    nativeSidecars: (env["ENABLE_NATIVE_SIDECARS"] ?? "auto") as KubeInjectSettings["nativeSidecars"],
  });
  const command = kubeInjectCommand(
    { env, settings },
    {
      print: (text) => void (printed.out += text),
      warn: (text) => void (printed.warnings += text),
      stdin: () => Promise.resolve(stdin),
    },
  );
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  await command.parseAsync([...args], { from: "user" });
  return printed;
}

const files = {
  "config.yaml": `
policy: enabled
templates:
  sidecar: |
    spec:
      {{ if .NativeSidecars }}initContainers{{ else }}containers{{ end }}:
      - name: istio-proxy
        image: {{ .ProxyImage }}
        args: ["{{ .Revision }}", "{{ .ProxyConfig.DiscoveryAddress }}", "{{ env "REGION" "none" }}"]
`,
  "values.yaml": "global: {hub: docker.io/istio, tag: 1.30.0}",
  "mesh.yaml": "defaultConfig: {discoveryAddress: istiod.control:15012}",
  "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: app}]}\n",
};

/** Writes the files, and returns the flags that name them. */
async function given(contents: Readonly<Record<string, string>> = files): Promise<readonly string[]> {
  const directory = await folder({});
  for (const [name, text] of Object.entries(contents)) await writeFile(join(directory, name), text);
  const flags = { injectConfigFile: "config.yaml", valuesFile: "values.yaml", meshConfigFile: "mesh.yaml" };
  return Object.entries(flags)
    .flatMap(([flag, name]) => [`--${flag}`, join(directory, name)])
    .concat("-f", join(directory, "pod.yaml"));
}

describe("istiod kube-inject", () => {
  it("injects with the files of the flags", async () => {
    const { out } = await run([...(await given()), "-r", "canary"], { REGION: "eu" });
    expect(comparable(out)).toMatchObject([
      {
        kind: "Pod",
        spec: {
          containers: [
            { name: "app" },
            {
              name: "istio-proxy",
              image: "docker.io/istio/proxyv2:1.30.0",
              args: ["canary", "istiod.control:15012", "eu"],
            },
          ],
        },
      },
    ]);
  });

  it("makes native sidecars only if ENABLE_NATIVE_SIDECARS is true", async () => {
    const args = await given();
    const kinds = async (value: string): Promise<unknown> => {
      const [pod] = comparable((await run(args, { ENABLE_NATIVE_SIDECARS: value })).out);
      return Object.keys((pod as { spec: object }).spec).sort();
    };
    expect(await kinds("true")).toEqual(["containers", "initContainers"]);
    expect(await kinds("auto")).toEqual(["containers"]);
  });

  it("reads standard input and writes a file", async () => {
    const [, , , , , , , pod = ""] = await given();
    const args = (await given()).slice(0, -2);
    const target = `${pod}.injected`;
    const { out } = await run([...args, "-f", "-", "-o", target], {}, files["pod.yaml"]);
    expect(out).toBe("");
    expect(await readFile(target, "utf8")).toContain("istio-proxy");
  });

  it("takes a file without templates as the template sidecar", async () => {
    const template = 'spec: {containers: [{name: istio-proxy, image: "{{ .ProxyImage }}"}]}';
    const { out } = await run(await given({ ...files, "config.yaml": template }));
    expect(out).toContain("image: docker.io/istio/proxyv2:1.30.0");
  });

  it("copies documents without pods, with their comments", async () => {
    const service = "# the shop\napiVersion: v1\nkind: Service\nmetadata: {name: shop}\n";
    const { out } = await run(await given({ ...files, "pod.yaml": `${service}---\n${files["pod.yaml"]}` }));
    expect(out.startsWith(`${service}---\n`)).toBe(true);
    expect(out).toContain("istio-proxy");
  });

  it("warns of workloads that it leaves as they are", async () => {
    const pod = files["pod.yaml"].replace("spec: {", "spec: {hostNetwork: true, ");
    const { out, warnings } = await run(await given({ ...files, "pod.yaml": pod }));
    expect(out).not.toContain("istio-proxy");
    expect(warnings).toBe('===> Skipping injection because Pod "web" has host networking enabled\n\n');
  });

  it.each([
    ["-f", "-f, --filename: is required"],
    ["--injectConfigFile", "without a cluster, --injectConfigFile, --valuesFile and --meshConfigFile are required"],
    ["--valuesFile", "without a cluster"],
    ["--meshConfigFile", "without a cluster"],
  ])("requires %s where there is no kubeconfig", async (flag, message) => {
    const args = [...(await given())];
    args.splice(args.indexOf(flag), 2);
    await expect(run(args, { KUBECONFIG: "/none/kubeconfig" })).rejects.toThrow(message);
  });

  it.each([
    ["values.yaml", "global: [", "could not parse configuration values"],
    ["values.yaml", "global: {hub: 5}", "global.hub: is a number, expected a string"],
    ["mesh.yaml", "ingressClass: istio\nproxyListenPort: 99999999", "mesh.yaml:2: proxyListenPort"],
    ["config.yaml", "templates: {sidecar: '{{ nope }}'}", 'template sidecar: template: inject:1: function "nope" not'],
    ["pod.yaml", "kind: Pod\nspec: {containers: {}}", "Pod.spec.containers: is an object, expected a list"],
  ])("refuses %s with %j", async (name, text, message) => {
    await expect(run(await given({ ...files, [name]: text }))).rejects.toThrow(message);
  });
});

describe("istiod kube-inject with a cluster", () => {
  const configMap = (name: string, data: Readonly<Record<string, string>>) =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "istio-system" }, data }) as never;
  const addNode = async ({ objects }: ApiServer, name: string, kubeletVersion: string): Promise<void> => {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name } };
    await objects.create(node);
    await objects.updateStatus({ ...node, status: { nodeInfo: { kubeletVersion } } });
  };

  /** Starts an API server with the configuration of a revision, and returns flags and the server. */
  async function cluster(suffix = "") {
    const server = await startApiServer({ types: [], namespaces: ["istio-system"], authorization: "allow-all" });
    onTestFinished(() => server.stop());
    const data = { config: files["config.yaml"], values: files["values.yaml"] };
    await server.objects.create(configMap(`istio-sidecar-injector${suffix}`, data));
    await server.objects.create(configMap(`istio${suffix}`, { mesh: files["mesh.yaml"] }));
    await addNode(server, "new", "v1.33.1");
    const directory = await folder({ kubeconfig: server.kubeconfig.yaml, "pod.yaml": files["pod.yaml"] });
    const args = ["--kubeconfig", join(directory, "kubeconfig"), "-f", join(directory, "pod.yaml")];
    return { server, args, directory };
  }

  it("injects with the ConfigMaps, and makes native sidecars if all nodes run Kubernetes 1.33", async () => {
    const { server, args } = await cluster();
    const kinds = async (): Promise<unknown> => {
      const [pod] = comparable((await run(args)).out) as readonly { readonly spec: object }[];
      return pod?.spec;
    };
    const proxy = { name: "istio-proxy", image: "docker.io/istio/proxyv2:1.30.0" };
    expect(await kinds()).toMatchObject({ initContainers: [proxy] });
    await addNode(server, "old", "v1.32.0");
    expect(await kinds()).toMatchObject({ containers: [{ name: "app" }, proxy] });
  });

  it("reads the ConfigMaps of a revision, and files in their place", async () => {
    const { args, directory } = await cluster("-canary");
    await expect(run(args)).rejects.toThrow(
      "ConfigMap istio-system/istio-sidecar-injector: does not exist; use --injectConfigFile, or name",
    );
    expect((await run([...args, "-r", "canary"])).out).toContain("istiod.control:15012");
    const values = join(directory, "values.yaml");
    await writeFile(values, "global: {hub: docker.io/istio, tag: other}");
    const { out } = await run([...args, "-r", "canary", "--valuesFile", values]);
    expect(out).toContain("docker.io/istio/proxyv2:other");
  });
});

describe("istiod kube-inject on the reference", () => {
  it("has cases", ({ skip }) => {
    skip(absence !== undefined, absence);
    expect(referenceCases().length).toBeGreaterThan(70);
  });

  it.each(referenceCases())("$input becomes $want", async (reference: ReferenceCase) => {
    const { injectConfig, values, meshConfig } = filesOf(reference);
    const contents = { "config.yaml": injectConfig, "values.yaml": values, "mesh.yaml": meshConfig, "pod.yaml": "" };
    const args = (await given(contents)).slice(0, -2);
    const { out, warnings } = await run([...args, "-f", inputPath(reference)], reference.env);
    expect(comparable(out)).toEqual(comparable(wantOf(reference)));
    if (reference.expectedLog !== undefined) expect(warnings).toContain(reference.expectedLog.replaceAll('\\"', '"'));
  });
});
