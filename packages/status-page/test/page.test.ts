import { renderPage, type StatusModel } from "@istiod/status-page";
import { describe, expect, it } from "vitest";
import { bigModel, emptyModel, now, proxy, synced, troubledModel, withType } from "./models.js";
import { rowsOf, sectionOf, textOf } from "./page-text.js";

const section = (model: StatusModel, id: string): string => sectionOf(renderPage(model), id);
const shown = (model: StatusModel, id: string): string => textOf(section(model, id));
const attention = (model: StatusModel): readonly string[] =>
  [...renderPage(model).matchAll(/<li><a class="mark (\w+)" href="#([\w-]+)">([^<]*)</g)].map(
    ([, level, target, text]) => `${level} ${target}: ${text}`,
  );

describe("an empty model", () => {
  it("is described as such, with the instance", () => {
    expect(shown(emptyModel, "instance")).toBe(
      "Ready, no proxies connected Version 0.1.0 Revision default Cluster Kubernetes Namespace istio-system Instance istiod-1 Up 5.0s Configuration revision 1 State ready",
    );
    expect(shown(emptyModel, "proxies")).toBe("Proxies No proxy is connected to this istiod.");
    expect(shown(emptyModel, "changes")).toBe("Last changes Nothing changed since this istiod started.");
    expect(shown(emptyModel, "certificates")).toBe(
      "Certificates None: this istiod signs no certificates and serves no TLS.",
    );
    expect(shown(emptyModel, "objects")).toBe("Objects 0 objects of 0 kinds");
    expect(renderPage(emptyModel)).not.toContain("<small></small>");
    for (const id of ["rejections", "problems", "findings"]) expect(section(emptyModel, id)).toBe("");
    expect(attention(emptyModel)).toEqual([]);
  });

  it("does not claim that there are no findings if no analysis runs", () => {
    expect(renderPage(emptyModel)).not.toContain("Findings");
    expect(textOf(renderPage({ ...emptyModel, findings: [] }))).toContain("Findings 0");
  });

  it("lists the conditions that readiness waits for", () => {
    const model = { ...emptyModel, instance: { ...emptyModel.instance, waitingFor: ["cluster east"] } };
    expect(attention(model)).toEqual(["error instance: not ready: waiting for cluster east"]);
    expect(shown(model, "instance")).toMatch(/State waiting for cluster east$/);
  });
});

describe("a model with problems", () => {
  it("lists the conditions first, errors before warnings, each with a link to its section", () => {
    expect(attention(troubledModel)).toEqual([
      "error rejections: 2 proxies reject their configuration",
      "error problems: 1 error in configuration",
      "error findings: 1 error found by analysis",
      "error sources: Cluster east: stale, the last good state stays active",
      "error certificates: Serving certificate: expires in 11h, renewal is 1h late",
      "warning proxies: 1 proxy has not acknowledged for over 5s",
      "warning problems: 1 warning in configuration",
    ]);
    const page = renderPage(troubledModel);
    expect(page).toContain("<title>(7) istiod istiod-1: 7 things need attention</title>");
    for (const [, id = ""] of page.matchAll(/href="#([\w-]+)"/g)) expect(page, id).toContain(` id="${id}"`);
  });

  it("lists proxies with the state of each type, worst state first, with Envoy's message", () => {
    const reason =
      "LDS Error adding/updating listener(s) 0.0.0.0_8443: Failed to load certificate chain from <inline>: PEM_read_bio";
    expect(rowsOf(section(troubledModel, "proxies"))).toEqual([
      ["gateway-5c4b.edge", "router", "1.27.0", "3h", "synced", "NACK", "synced", "synced", "", reason],
      ["gateway-9a1e.edge", "router", "1.27.0", "3h", "synced", "NACK", "synced", "synced", "", reason],
      [
        "till-5f6c.shop",
        "sidecar",
        "1.26.2",
        "3h",
        "synced",
        "synced",
        "stale 42s",
        "synced",
        "",
        "sent 42s ago, not acknowledged",
      ],
      ["web-1b2c.shop", "sidecar", "1.27.0", "3h", "synced", "synced", "synced", "synced", "", "push pending"],
      [
        "batch-0.jobs",
        "sidecar",
        "1.27.0",
        "3h",
        "synced",
        "synced",
        "–not subscribed",
        "–not subscribed",
        "NDS synced",
        "",
      ],
      ["cart-7d9f.shop", "sidecar", "1.27.0", "3h", "synced", "synced", "synced", "synced", "", ""],
    ]);
    expect(shown(troubledModel, "proxies")).toContain(
      "6 proxies (5 × 1.27.0, 1 × 1.26.2): 2 synced, 2 rejecting, 1 stale, 1 with a push pending",
    );
  });

  it("shows a type that was not sent, and the longest unacknowledged proxy first", () => {
    const stale = (name: string, seconds: number) =>
      proxy(name, { types: withType({ type: "RDS", state: "stale", sentAt: now - seconds * 1000 }) });
    const model = {
      ...emptyModel,
      proxies: [
        stale("a", 1),
        proxy("b", { types: withType({ type: "EDS", state: "not sent" }) }),
        stale("c", 4),
        proxy("d", { types: [] }),
        proxy("e", { types: [synced("CDS")] }),
      ],
    };
    expect(rowsOf(section(model, "proxies")).map(([name, , , , , , eds, rds]) => `${name} ${eds} ${rds}`)).toEqual([
      "c synced stale 4.0s",
      "a synced stale 1.0s",
      "b not sent synced",
      "d –not subscribed –not subscribed",
      "e –not subscribed –not subscribed",
    ]);
    expect(attention(model)).toEqual([]);
    expect(shown(model, "instance")).toMatch(/^1 of 5 proxies in sync /);
  });

  it("groups equal rejections of several proxies, with resources and objects", () => {
    expect(shown(troubledModel, "rejections")).toBe(
      "NACKs 2 rejected responses: the last accepted configuration stays active LDS rejected by 2 proxies: gateway-5c4b.edge, gateway-9a1e.edge 2m ago " +
        "Error adding/updating listener(s) 0.0.0.0_8443: Failed to load certificate chain from <inline>: PEM_read_bio Resource: 0.0.0.0_8443 After a change of Gateway/edge/public",
    );
  });

  it("shows problems with file, line, object and exact text", () => {
    expect(shown(troubledModel, "problems")).toBe(
      'Configuration problems 2 problems Error VirtualService shop/cart spec.http[0].timeout: expected a duration such as "1.5s", not "much" mesh/routes.yaml:17 ' +
        "Warning DestinationRule shop/cart spec.trafficPolicy: h2UpgradePolicy is deprecated mesh/rules.yaml:40",
    );
  });

  it("shows findings with a link to Istio's documentation of their code", () => {
    expect(shown(troubledModel, "findings")).toBe(
      'Findings about accepted objects Error IST0101 VirtualService shop/web Referenced host not found: "wep.shop" mesh/web.yaml:12 ' +
        'Info IST0118 Service shop/till Port name "x" does not follow the naming convention of Istio port mesh/till.yaml:3',
    );
    expect(section(troubledModel, "findings")).toContain(
      '<a href="https://istio.io/latest/docs/reference/config/analysis/ist0101/">IST0101</a>',
    );
    expect(
      section(
        { ...emptyModel, findings: [{ code: "OWN1", level: "Info", origin: "x", reference: "", message: "y" }] },
        "findings",
      ),
    ).not.toContain("<a");
  });

  it("lists changes with their proxies, acknowledgements and the time to the last ACK", () => {
    expect(rowsOf(section(troubledModel, "changes"))).toEqual([
      ["EndpointSlice/shop/till-1", "42s ago", "214", "4", "by 3 of 4", "31ms"],
      ["Gateway/edge/public", "2m ago", "213", "2", "by 0 of 2, 2 NACKs", ""],
      [
        "VirtualService/shop/cart, DestinationRule/shop/cart, Service/shop/cart and 9 more",
        "1h ago",
        "212",
        "6",
        "by all",
        "1.8s",
      ],
      ["ConfigMap/kube-system/leader", "2h ago", "211", "0", "nothing to send", ""],
    ]);
  });

  it("lists sources with their read errors", () => {
    expect(rowsOf(section(troubledModel, "sources"))).toEqual([
      ["Mesh configuration", "etc/mesh.yaml", "current"],
      ["Cluster Kubernetes", "mesh", "reading"],
      ["Cluster east", "clusters/east", "stale clusters/east/shop.yaml: cannot be read: permission denied (EACCES)"],
    ]);
  });

  it("counts objects by kind, largest first, without empty kinds", () => {
    expect(shown(troubledModel, "objects")).toBe(
      "Objects 1,276 objects of 2 kinds VirtualService networking.istio.io 1,234 Service 42",
    );
  });
});

describe("certificates", () => {
  const day = 86_400_000;
  const states = (...certificates: StatusModel["certificates"]): readonly string[] =>
    [
      ...section({ ...emptyModel, certificates }, "certificates").matchAll(
        /<th role="rowheader"[^>]*><span class="short">([^<]*)<[^]*?class="mark (\w+)"><span[^>]*>([^<]*)</g,
      ),
    ].map(([, role, level, verdict]) => `${role}: ${level}, ${verdict}`);
  const certificate = (role: string, left: number, renewalDue?: number) => ({
    role,
    subject: "O=x",
    notBefore: now - 100 * day,
    notAfter: now + left,
    ...(renewalDue !== undefined && { renewalDue }),
  });

  it("of an operator are errors within thirty days of their expiry", () => {
    expect(
      states(
        certificate("a", 30 * day),
        certificate("b", 30 * day - 1),
        certificate("c", 0),
        certificate("d", -2 * day),
      ),
    ).toEqual(["d: error, expired 2d ago", "c: error, expired", "b: error, expires in 29d", "a: ok, expires in 30d"]);
  });

  it("that istiod renews are errors if their renewal is overdue", () => {
    const hour = 3_600_000;
    expect(
      states(
        certificate("a", 11 * hour, now + 60_000),
        certificate("b", 12 * hour, now - 300_000),
        certificate("c", 13 * hour, now - 360_000),
      ),
    ).toEqual(["a: ok, expires in 11h", "b: ok, expires in 12h", "c: error, expires in 13h, renewal is 6m late"]);
  });

  it("that are not valid yet are errors", () => {
    expect(states({ role: "a", subject: "", notBefore: now + 3_600_000, notAfter: now + 100 * day })).toEqual([
      "a: error, not valid for another 1h",
    ]);
  });
});

describe("with 500 proxies", () => {
  const page = renderPage(bigModel);

  it("shows the first items of each list, and links to the others", () => {
    expect(rowsOf(sectionOf(page, "proxies"))).toHaveLength(25);
    expect(sectionOf(page, "proxies")).toContain('and <a href="./debug/syncz">475 more proxies</a>');
    expect(sectionOf(page, "problems")).toContain('and <a href="?format=json">490 more problems</a>');
    expect(rowsOf(sectionOf(page, "changes"))).toHaveLength(10);
    expect(sectionOf(page, "changes")).toContain('and <a href="./debug/changes">246 more changes</a>');
    expect(textOf(sectionOf(page, "rejections"))).toContain(
      "LDS rejected by 250 proxies: web-000.shop, web-002.shop, web-004.shop, web-006.shop, web-008.shop and 245 more",
    );
  });

  it("is as large as with 5,000 proxies", () => {
    const more = { ...bigModel, proxies: Array.from({ length: 10 }, () => bigModel.proxies).flat() };
    expect(renderPage(more).length - page.length).toBeLessThan(200);
  });

  it("truncates a long message", () => {
    const rejection = { reason: "x".repeat(100_000), resources: [], causes: [], at: now };
    expect(
      renderPage({
        ...emptyModel,
        proxies: [proxy("a", { types: withType({ type: "CDS", state: "rejected", rejection }) })],
      }).length,
    ).toBeLessThan(30_000);
  });
});

describe("the document", () => {
  it("supports phones and assistive technology", () => {
    const page = renderPage(troubledModel);
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    for (const part of [
      '<meta name="viewport" content="width=device-width, initial-scale=1">',
      "<header>",
      '<main id="main"',
      "<h1>istiod</h1>",
      "prefers-color-scheme: dark",
      '<a class="skip" href="#main">',
    ])
      expect(page).toContain(part);
    expect(page.match(/<table/g)).toHaveLength(4);
    expect(page.match(/<caption>/g)).toHaveLength(4);
    expect([...page.matchAll(/<th\b[^>]*>/g)].filter(([tag]) => !tag.includes(" scope="))).toEqual([]);
  });

  it("loads nothing", () => {
    const page = renderPage(troubledModel, { refreshSeconds: 10 });
    expect([...page.matchAll(/\b(?:src|srcset|action|poster)=/g)]).toEqual([]);
    expect([...page.matchAll(/<link [^>]*>/g)].map(([tag]) => tag.slice(0, 42))).toEqual([
      '<link rel="icon" href="data:image/svg+xml,',
    ]);
    expect(page).not.toMatch(/url\(|@import/);
  });

  it("is refreshed only on request", () => {
    expect(renderPage(emptyModel)).not.toMatch(/<script|http-equiv/);
    expect(renderPage(emptyModel)).toContain('<a href="?refresh=10">Refresh every 10s</a>');
    const page = renderPage(emptyModel, { refreshSeconds: 30 });
    expect(page).toContain('<noscript><meta http-equiv="refresh" content="30"></noscript>');
    expect(page).toContain('<a href="./">Stop refreshing</a>');
  });
});
