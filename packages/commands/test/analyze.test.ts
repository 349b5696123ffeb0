import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseSuppression } from "@istiod/analysis";
import { describe, expect, test } from "vitest";
import { analyzeExits } from "@istiod/commands";
import { analyze, findings } from "@istiod/commands/testing";
import { folder } from "./folder.js";

const service = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
`;
const virtualService = (host: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart]
  http:
  - route:
    - destination:
        host: ${host}
`;
/** A port whose name has no protocol. */
const oddService = service.replace("name: cart", "name: odd").replace("name: http", "name: web");
const files = { "mesh/cart.yaml": service, "mesh/routes/vs.yaml": virtualService("crat"), "mesh/odd.yaml": oddService };

describe("istiod analyze of files", () => {
  test("reads a directory at any depth, and names level, code, object, file and line", async () => {
    const root = join(await folder(files), "mesh");
    const { exit, out, err } = await analyze([root]);
    expect(out.split("\n")).toEqual([
      expect.stringMatching(
        new RegExp(
          `^Error \\[IST0101\\] \\(VirtualService shop/cart ${root}/routes/vs\\.yaml:10\\) .*"crat".*did you mean "cart"`,
        ),
      ) as string,
      expect.stringMatching(new RegExp(`^Info \\[IST0118\\] \\(Service shop/odd ${root}/odd\\.yaml:5\\) `)) as string,
      "",
    ]);
    expect({ exit, err }).toEqual({ exit: analyzeExits.found, err: "" });
    expect(await analyze(["--configDir", root])).toEqual({ exit, out, err });
  });

  test("takes the namespace of the control plane, in which Secrets of remote clusters are", async () => {
    const secret = `
apiVersion: v1
kind: Secret
metadata: {name: west, namespace: mesh, labels: {istio/multiCluster: "true"}}
`;
    const root = await folder({ "mesh/west.yaml": secret });
    expect((await analyze([root])).out).toContain("is not read in namespace mesh");
    expect((await analyze(["-i", "mesh", root])).out).toContain("has no effect: the Secret has no data");
  });

  test("reads several files and directories together, as arguments and by -f", async () => {
    const root = join(
      await folder({
        ...files,
        "mesh/crat.json": JSON.stringify({
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "crat", namespace: "shop" },
          spec: { ports: [{ name: "http", port: 80 }] },
        }),
      }),
      "mesh",
    );
    expect(await findings("-f", join(root, "routes"))).toContain(
      `IST0101 VirtualService shop/cart ${join(root, "routes/vs.yaml")}:10`,
    );
    const clean = await analyze(["-f", join(root, "routes"), "-f", join(root, "cart.yaml"), join(root, "crat.json")]);
    expect(clean).toEqual({ exit: analyzeExits.passed, out: "", err: "\u2714 No findings.\n" });
  });

  test("reads standard input, alone and with files", async () => {
    const root = join(await folder(files), "mesh");
    const stdin = virtualService("crat");
    expect((await analyze(["-", join(root, "cart.yaml")], { stdin })).out).toMatch(
      /^Error \[IST0101\] \(VirtualService shop\/cart -:10\) [^\n]*\n$/,
    );
    expect(await analyze(["-f", "-"], { stdin: `${service}---${virtualService("cart")}` })).toMatchObject({
      exit: analyzeExits.passed,
      out: "",
    });
  });

  test("reads mesh configuration, networks and other clusters, and reports their errors as findings", async () => {
    const root = await folder({
      "mesh/cart.yaml": service,
      "mesh/telemetry.yaml":
        "{apiVersion: telemetry.istio.io/v1, kind: Telemetry, metadata: {name: all, namespace: istio-system}, spec: {tracing: [{providers: [{name: tracer}]}]}}",
      "east/cart.yaml": service.replace("80", "81"),
      "mesh.yaml": "extensionProviders: [{name: tracer, zipkin: {service: cart.shop.svc.cluster.local, port: 80}}]",
      "bad-mesh.yaml":
        "extensionProviders:\n- {name: trace, zipkin: {service: zipkin.shop.svc.cluster.local, port: 9411}}\naccessLogFormatt: x\n",
      "networks.yaml": "networks:\n  one:\n    endpoints: [{fromRegistry: wset}]\n    gateways: []\n",
    });
    const mesh = join(root, "mesh");
    const provider = `MESH0008 Telemetry istio-system/all ${join(mesh, "telemetry.yaml")}:1`;
    expect(await findings(mesh)).toEqual([provider]);
    for (const flag of ["--meshConfig", "--meshConfigFile"])
      expect(await findings(mesh, flag, join(root, "mesh.yaml"))).toEqual([]);
    expect(await findings(mesh, "--meshConfig", join(root, "bad-mesh.yaml"))).toEqual([
      provider,
      `IST0133 undefined ${join(root, "bad-mesh.yaml")}:3`,
    ]);
    const networks = await analyze([
      mesh,
      "--meshConfig",
      join(root, "mesh.yaml"),
      "--networksConfig",
      join(root, "networks.yaml"),
    ]);
    expect(networks.out).toMatch(
      new RegExp(
        `^Error \\[IST0126\\] \\(MeshNetworks istio-system/meshnetworks ${join(root, "networks.yaml")}:3\\) .*wset`,
      ),
    );
    expect(
      await findings(mesh, "--meshConfig", join(root, "mesh.yaml"), "--clusterDir", `east=${join(root, "east")}`),
    ).toContainEqual(expect.stringMatching(/^IST0170 Service shop\/cart /));
  });

  test("analyzes rejected objects as well, and continues after invalid YAML", async () => {
    const root = join(
      await folder({
        ...files,
        "mesh/bad.yaml": "{",
        "mesh/routes/vs.yaml": `${virtualService("crat")}    retries: {attempts: -1}\n`,
      }),
      "mesh",
    );
    expect(await findings(root)).toEqual(
      expect.arrayContaining([
        `IST0101 VirtualService shop/cart ${join(root, "routes/vs.yaml")}:10`,
        `IST0106 VirtualService shop/cart ${join(root, "routes/vs.yaml")}:11`,
        expect.stringMatching(new RegExp(`^IST0106 undefined ${join(root, "bad.yaml")}:1$`)) as string,
      ]),
    );
  });
});

describe("exit status and output of istiod analyze", () => {
  test("exits with 79 for a finding at the threshold, in every output format", async () => {
    const root = join(await folder(files), "mesh");
    for (const format of ["log", "json", "yaml", "table"])
      expect((await analyze([root, "-o", format])).exit).toBe(analyzeExits.found);
    const info = await folder({ "odd.yaml": oddService });
    expect(await analyze([info])).toMatchObject({
      exit: analyzeExits.passed,
      out: expect.stringMatching(/^Info \[IST0118\]/) as string,
    });
    expect((await analyze([info, "--failure-threshold", "Warning"])).exit).toBe(analyzeExits.passed);
    expect((await analyze([info, "--failure-threshold", "info"])).exit).toBe(analyzeExits.found);
  });

  test("findings below the output threshold are hidden and still count for the exit status", async () => {
    const root = join(await folder(files), "mesh");
    expect(await findings(root, "--output-threshold", "Warning")).toEqual([
      `IST0101 VirtualService shop/cart ${join(root, "routes/vs.yaml")}:10`,
    ]);
    const odd = await analyze([join(root, "odd.yaml"), "--output-threshold", "Error", "--failure-threshold", "Info"]);
    expect(odd).toEqual({ exit: analyzeExits.found, out: "", err: "\u2714 No findings.\n" });
  });

  test("an unparsable file is reported; without a finding at the threshold the status is 65, or 0 with --ignore-unknown", async () => {
    const root = await folder({ "bad.yaml": "kind: [" });
    expect(await analyze([root])).toMatchObject({
      exit: analyzeExits.found,
      out: expect.stringMatching(/^Error \[IST0106\] \(.*bad\.yaml:1\) is not YAML/) as string,
    });
    const suppressed = ["--analyzer", "service.PortNameAnalyzer", root];
    expect(await analyze(suppressed)).toMatchObject({
      exit: analyzeExits.notParsed,
      out: "",
      err: `No findings, but not parsed: ${join(root, "bad.yaml")}.\n`,
    });
    expect((await analyze([...suppressed, "--ignore-unknown"])).exit).toBe(analyzeExits.passed);
  });

  test("suppresses findings by code and object, and by the annotation", async () => {
    const root = join(await folder(files), "mesh");
    const suppressed = await analyze([
      root,
      "-S",
      "IST0101=VirtualService shop/*",
      "--suppress",
      "IST0118=Service odd.shop",
    ]);
    expect(suppressed).toEqual({ exit: analyzeExits.passed, out: "", err: "\u2714 No findings.\n" });
    expect((await analyze([root, "-S", "IST0101=VirtualService pay/*"])).exit).toBe(analyzeExits.found);
    expect((await analyze([root, "-S", "IST9999=Pod a/b"])).err).toMatch(
      /^Warning: --suppress IST9999=Pod a\/b: IST9999 is not a known code/,
    );
    await writeFile(
      join(root, "routes/vs.yaml"),
      virtualService("crat").replace(
        "namespace: shop}",
        'namespace: shop, annotations: {galley.istio.io/analyze-suppress: "IST0101"}}',
      ),
    );
    expect(await findings(root)).toEqual([`IST0118 Service shop/odd ${join(root, "odd.yaml")}:5`]);
    expect(() => parseSuppression("IST0101")).toThrow("--suppress IST0101: expected CODE=KIND NAMESPACE/NAME");
    await expect(analyze([root, "-S", "IST0101"])).rejects.toThrow(
      "--suppress IST0101: expected CODE=KIND NAMESPACE/NAME",
    );
  });

  test("runs one analyzer, lists all of them, and prints which ones ran", async () => {
    const root = join(await folder(files), "mesh");
    expect(await findings(root, "--analyzer", "service.PortNameAnalyzer")).toEqual([
      `IST0118 Service shop/odd ${join(root, "odd.yaml")}:5`,
    ]);
    expect((await analyze([root, "--analyzer", "service.PortNameAnalyzer", "-v"])).err).toBe(
      "Executed analyzers:\n\tservice.PortNameAnalyzer\n",
    );
    await expect(analyze([root, "--analyzer", "service.PortName"])).rejects.toThrow(
      /analyzer service\.PortName does not exist/,
    );
    const { out, exit } = await analyze(["--list-analyzers"]);
    expect(out).toMatch(/^\* service\.PortNameAnalyzer:\n {4}\S/m);
    expect(out.match(/^\* \S+:$/gm)).toEqual([...(out.match(/^\* \S+:$/gm) ?? [])].sort());
    expect(exit).toBeUndefined();
  });

  test("selects a namespace, and colors levels in a terminal or with --color", async () => {
    const root = join(
      await folder({ ...files, "mesh/pay.yaml": oddService.replace("namespace: shop", "namespace: pay") }),
      "mesh",
    );
    expect(await findings(root, "-n", "pay")).toEqual([`IST0118 Service pay/odd ${join(root, "pay.yaml")}:5`]);
    expect((await analyze([root, "-n", "pay", "-A"])).out).toMatch(/pay\/odd/);
    expect((await analyze([root], { isColorTerminal: true })).out).toMatch(/^\u001b\[1;31mError\u001b\[0m \[IST0101\]/);
    expect((await analyze([root, "--color=false"], { isColorTerminal: true })).out).toMatch(/^Error \[IST0101\]/);
    expect((await analyze([root, "--color"])).out).toMatch(/^\u001b\[1;31mError/);
  });
});

test.each([
  [["--use-kube=false"], "no files to analyze: give files or directories, --configDir, --istiod, or --use-kube"],
  [["nowhere.yaml"], "nowhere.yaml"],
  [[".", "--meshConfig", "nowhere.yaml"], "--meshConfig nowhere.yaml: no such file"],
  [[".", "--meshConfigFile", "nowhere.yaml"], "--meshConfigFile nowhere.yaml: no such file"],
  [[".", "--networksConfig", "nowhere.yaml"], "--networksConfig nowhere.yaml: no such file"],
  [[".", "--clusterDir", "east"], "--clusterDir east: expected"],
  [["--istiod", "http://127.0.0.1:1"], "--istiod http://127.0.0.1:1: no response"],
  [[".", "--failure-threshold", "Fatal"], "argument 'Fatal' is invalid. expected one of Error, Warning, Info"],
  [[".", "--output-threshold", "none"], "argument 'none' is invalid. expected one of Error, Warning, Info"],
  [[".", "-o", "xml"], "argument 'xml' is invalid. Allowed choices are log, json, yaml, table."],
  [[".", "--use-kube", "--istiod", "http://127.0.0.1:1"], "--istiod and a cluster: expected one of them"],
  [[".", "--kubeconfig", "/nowhere/config"], "kubeconfig /nowhere/config: ENOENT"],
])("istiod analyze %j fails with an error message", async (args, message) => {
  const root = await folder({});
  await expect(analyze(args.map((arg) => (arg === "." ? root : arg)))).rejects.toThrow(message);
});

/** A Pod with a sidecar. */
const pod = `
apiVersion: v1
kind: Pod
metadata:
  name: cart-1
  namespace: shop
  labels: {app: cart, security.istio.io/tlsMode: istio}
spec: {containers: [{name: app}], serviceAccountName: cart}
status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}]}
`;

describe("patches of EnvoyFilters", () => {
  const filter = (cluster: string, more = ""): string => `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: limits, namespace: shop}
spec:
  configPatches:
  - applyTo: CLUSTER
    match: {context: SIDECAR_OUTBOUND, cluster: {service: ${cluster}}}
    patch: {operation: MERGE, value: {alt_stat_name: x}}
${more}`;
  const skipped = `
  - applyTo: NETWORK_FILTER
    match:
      context: SIDECAR_INBOUND
      listener: {filterChain: {filter: {name: envoy.filters.network.http_connection_manager}}}
    patch:
      operation: MERGE
      value: {typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy}}
`;
  const patches = async (...objects: readonly string[]): Promise<readonly string[]> => {
    const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
    const root = await folder({ "mesh.yaml": [namespace, service, ...objects].join("---") });
    const { out } = await analyze([root]);
    return out.split("\n").flatMap((line) => (line.includes("MESH0066") ? [line.replace(/^.*?\) /, "")] : []));
  };

  test("that match nothing of the Pods' proxies, or are skipped, are found with their lines", async () => {
    const proxy = "sidecar~10.0.0.1~cart-1.shop~shop.svc.cluster.local";
    expect(await patches(pod, filter("cart.shop.svc.cluster.local"))).toEqual([]);
    expect(await patches(pod, filter("crat.shop.svc.cluster.local", skipped))).toEqual([
      `matches no CLUSTER of the one proxy that it is for, such as ${proxy}, so that it changes nothing`,
      expect.stringMatching(new RegExp(`^is skipped on 1 of 1 proxies, such as ${proxy}: typed_config is `)) as string,
    ]);
  });

  test("are not judged without proxies", async () =>
    expect(await patches(filter("crat.shop.svc.cluster.local"))).toEqual([]));
});

describe("providers of telemetry", () => {
  const telemetry = `
apiVersion: telemetry.istio.io/v1
kind: Telemetry
metadata: {name: traces, namespace: shop}
spec: {tracing: [{providers: [{name: tracer}]}]}
`;
  const tracer = (exportTo: string): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: tracer, namespace: shop}
spec:
  hosts: [tracer.example]
  exportTo: [${JSON.stringify(exportTo)}]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{number: 9411, name: http, protocol: HTTP}]
`;
  const mesh = "extensionProviders: [{name: tracer, zipkin: {service: tracer.example, port: 9411}}]\n";

  test.each<[string, readonly string[]]>([
    [".", []],
    [
      "~",
      [
        'provider "tracer" has no effect on one proxy, such as sidecar~10.0.0.1~cart-1.shop~shop.svc.cluster.local: service tracer.example is not visible to the proxy',
      ],
    ],
  ])("that the Pods' proxies lack are found: exported to %j", async (exportTo, found) => {
    const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
    const root = await folder({
      "mesh.yaml": [namespace, service, pod, telemetry, tracer(exportTo)].join("---"),
      "config.txt": mesh,
    });
    const { out } = await analyze([root, "--meshConfigFile", join(root, "config.txt")]);
    expect(out.split("\n").flatMap((line) => (line.includes("MESH0068") ? [line.replace(/^.*?\) /, "")] : []))).toEqual(
      found,
    );
  });
});
